//! One small model trained to convergence, with SGD and with Adam; then the hunt for what keeps two Adams apart.

use burn::module::Param;
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{
    AdamConfig, AdamState, AdaptiveMomentumState, GradientsParams,
    ModuleOptimizer, Optimizer, SgdConfig,
};
use burn::prelude::*;
use burn::tensor::FloatDType;
use burn::tensor::activation::relu;
use lesson::{note, record, section};

// --8<-- [start:task]
// --8<-- [part:sizes]
const SERIES: usize = 96;
const POINTS: usize = 16;
const CLASSES: usize = 3;
const BATCH: usize = 16;
const STEPS: usize = 100;
const TABLE: [usize; 13] = [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

// --8<-- [part:formula]
/// Series k at time t: the class sets the frequency of its first wave.
fn point(k: usize, t: usize) -> f64 {
    let frequency = 0.3 * (k % CLASSES + 1) as f64;
    let (k, t) = (k as f64, t as f64);
    (frequency * t + 0.37 * k).sin() + 0.3 * (2.3 * t + 1.1 * k).sin()
}

// --8<-- [part:rounded]
/// Computed in f64, rounded to f32 once; then of the device's float type.
fn rounded<const D: usize>(
    values: impl Iterator<Item = f64>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    let values: Vec<f32> = values.map(|value| value as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

// --8<-- [part:data]
fn task(device: &Device) -> (Tensor<3>, Tensor<1, Int>) {
    let points =
        (0..SERIES).flat_map(|k| (0..POINTS).map(move |t| point(k, t)));
    let x = rounded(points, [SERIES, 1, POINTS], device);
    let y = Tensor::arange(0..SERIES as i64, device)
        .remainder_scalar(CLASSES as i64);
    (x, y)
}
// --8<-- [end:task]

// --8<-- [start:model]
// --8<-- [part:sizes]
const CHANNELS: usize = 4;
const KERNEL: usize = 5;
const FEATURES: usize = CHANNELS * (POINTS - KERNEL + 1);

// --8<-- [part:layers]
#[derive(Debug, Module)]
struct Cnn {
    conv: Conv1d,
    fc: Linear,
}

// --8<-- [part:]
impl Cnn {
    // --8<-- [part:forward]
    fn forward(&self, x: Tensor<3>) -> Tensor<2> {
        let features = relu(self.conv.forward(x));
        self.fc.forward(features.flatten(1, 2))
    }
}

// --8<-- [part:build]
fn build(device: &Device) -> Cnn {
    let sines = (1..=CHANNELS * KERNEL).map(|i| 0.4 * (i as f64).sin());
    let ramp = (0..CHANNELS).map(|i| 0.02 * i as f64 - 0.03);
    // PyTorch keeps [out, in], burn [in, out]
    let cosines = (0..FEATURES).flat_map(|input| {
        (0..CLASSES).map(move |output| output * FEATURES + input)
    });
    let cosines = cosines.map(|i| 0.15 * ((i + 1) as f64).cos());

    let mut conv = Conv1dConfig::new(1, CHANNELS, KERNEL).init(device);
    conv.weight =
        Param::from_tensor(rounded(sines, [CHANNELS, 1, KERNEL], device));
    conv.bias = Some(Param::from_tensor(rounded(ramp, [CHANNELS], device)));
    let mut fc = LinearConfig::new(FEATURES, CLASSES).init(device);
    fc.weight =
        Param::from_tensor(rounded(cosines, [FEATURES, CLASSES], device));
    fc.bias = Some(Param::from_tensor(Tensor::zeros([CLASSES], device)));
    Cnn { conv, fc }
}
// --8<-- [end:model]

// --8<-- [start:parameters]
/// The parameters in PyTorch's order and layout.
struct Parameters {
    conv_weight: Tensor<3>,
    conv_bias: Tensor<1>,
    fc_weight: Tensor<2>,
    fc_bias: Tensor<1>,
}

impl Parameters {
    fn of(model: &Cnn) -> Self {
        let bias = |bias: &Option<Param<Tensor<1>>>| {
            bias.as_ref().unwrap().val().inner()
        };
        Parameters {
            conv_weight: model.conv.weight.val().inner(),
            conv_bias: bias(&model.conv.bias),
            fc_weight: model.fc.weight.val().inner().transpose(),
            fc_bias: bias(&model.fc.bias),
        }
    }

    fn row(self) -> Tensor<1> {
        let all = vec![
            self.conv_weight.flatten(0, 2),
            self.conv_bias,
            self.fc_weight.flatten(0, 1),
            self.fc_bias,
        ];
        Tensor::cat(all, 0)
    }
}
// --8<-- [end:parameters]

// --8<-- [start:train]
/// The model, every loss, all parameters after each step of the table.
fn train(
    mut model: Cnn,
    mut optimizer: ModuleOptimizer,
    lr: f64,
    (x, y): (Tensor<3>, Tensor<1, Int>),
) -> (Cnn, Tensor<1>, Tensor<2>) {
    let cross_entropy = CrossEntropyLossConfig::new().init(&x.device());
    let batches = x.split(BATCH, 0).into_iter().zip(y.split(BATCH, 0)).cycle();
    let (mut losses, mut trajectory) = (Vec::new(), Vec::new());
    for (step, (xb, yb)) in (1..=STEPS).zip(batches) {
        // --8<-- [part:forward]
        let loss = cross_entropy.forward(model.forward(xb), yb);
        // --8<-- [part:backward]
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        // --8<-- [part:update]
        model = optimizer.step(lr, model, gradients);
        // --8<-- [part:keep]
        losses.push(loss.inner());
        if TABLE.contains(&step) {
            trajectory.push(Parameters::of(&model).row());
        }
    }
    // --8<-- [part:]
    (model, Tensor::cat(losses, 0), Tensor::stack(trajectory, 0))
}
// --8<-- [end:train]

// --8<-- [start:evaluate]
/// The loss over all series, and how many the model gets right.
fn evaluate(
    model: &Cnn,
    (x, y): (Tensor<3>, Tensor<1, Int>),
) -> (Tensor<1>, Tensor<1, Int>) {
    // --8<-- [part:forward]
    let logits = model.valid().forward(x.inner());
    let y = y.inner();
    let loss = CrossEntropyLossConfig::new()
        .init(&logits.device())
        .forward(logits.clone(), y.clone());
    let correct = logits.argmax(1).squeeze_dim::<1>(1).equal(y).int().sum();
    (loss, correct)
}
// --8<-- [end:evaluate]

// --8<-- [start:optimizers]
const SGD_LR: f64 = 0.5;
const ADAM_LR: f64 = 0.01;

fn sgd() -> ModuleOptimizer {
    SgdConfig::new().init()
}

fn adam(epsilon: f32) -> ModuleOptimizer {
    AdamConfig::new().with_epsilon(epsilon).init()
}
// --8<-- [end:optimizers]

// --8<-- [start:run]
/// Train a fresh model, from the same f32 numbers whatever the type.
fn run(name: &str, optimizer: ModuleOptimizer, lr: f64, device: &Device) {
    let (model, losses, trajectory) =
        train(build(device), optimizer, lr, task(device));
    let (loss, correct) = evaluate(&model, task(device));

    let at = |step: usize| losses.clone().slice(step - 1).into_scalar::<f64>();
    let (first, middle, last) = (at(1), at(STEPS / 2), at(STEPS));
    let (all, right) = (
        loss.clone().into_scalar::<f64>(),
        correct.clone().into_scalar::<i64>(),
    );
    println!("{name:<14}loss {first:.6}, {middle:.6}, {last:.6}");
    println!("{:>13} {all:.6}, {right} right", "all series");
    record(&format!("{name}.losses"), losses.into_data());
    record(&format!("{name}.trajectory"), trajectory.into_data());
    record(&format!("{name}.final.loss"), loss.into_data());
    record(&format!("{name}.final.correct"), correct.into_data());
    let parameters = Parameters::of(&model);
    record(
        &format!("{name}.params.conv.weight"),
        parameters.conv_weight.into_data(),
    );
    record(
        &format!("{name}.params.conv.bias"),
        parameters.conv_bias.into_data(),
    );
    record(
        &format!("{name}.params.fc.weight"),
        parameters.fc_weight.into_data(),
    );
    record(&format!("{name}.params.fc.bias"), parameters.fc_bias.into_data());
}
// --8<-- [end:run]

// --8<-- [start:small-gradient]
/// The fc weight with the smallest gradient, and Adam's first step on it.
fn small_gradient(device: &Device) {
    let model = build(device);
    let (x, y) = task(device);
    let logits = model.forward(x.narrow(0, 0, BATCH));
    let loss = CrossEntropyLossConfig::new()
        .init(device)
        .forward(logits, y.narrow(0, 0, BATCH));
    let gradients = loss.backward();
    let gradient = model.fc.weight.val().grad(&gradients).unwrap().transpose();
    let before = Parameters::of(&model).fc_weight;
    let gradients = GradientsParams::from_grads(gradients, &model);
    let model = adam(1e-8).step(ADAM_LR, model, gradients);

    let smallest = gradient
        .clone()
        .flatten::<1>(0, 1)
        .abs()
        .argmin(0)
        .into_scalar::<i64>() as usize;
    let place = [smallest / FEATURES, smallest % FEATURES];
    let at_place = |tensor: Tensor<2>| tensor.slice(place).flatten::<1>(0, 1);
    let gradient = at_place(gradient);
    let update = at_place(Parameters::of(&model).fc_weight - before);
    let number = |tensor: &Tensor<1>| tensor.clone().into_scalar::<f64>();
    println!(
        "fc.weight{place:?}: gradient {:.6e}, update {:.10}",
        number(&gradient),
        number(&update)
    );
    record("small.place", place);
    record("small.gradient", gradient.into_data());
    record("small.update", update.into_data());
}
// --8<-- [end:small-gradient]

// --8<-- [start:factors]
const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The combined factor and the corrected epsilon, as burn computes them.
fn factors(step: i32) -> [f32; 2] {
    let correction = (1.0 - BETA_2.powi(step)).sqrt();
    [correction / (1.0 - BETA_1.powi(step)), EPSILON * correction]
}

/// The same from the same numbers, in f64.
fn factors_f64(step: i32) -> [f64; 2] {
    let [beta_1, beta_2, epsilon] = [BETA_1, BETA_2, EPSILON].map(f64::from);
    let correction = (1.0 - beta_2.powi(step)).sqrt();
    [correction / (1.0 - beta_1.powi(step)), epsilon * correction]
}
// --8<-- [end:factors]

fn compare_factors() {
    let steps = 1..=STEPS as i32;
    let single: Vec<f32> = steps.clone().flat_map(factors).collect();
    let double: Vec<f64> = steps.clone().flat_map(factors_f64).collect();
    let errors = steps.map(|step| {
        let ([single, _], [double, _]) = (factors(step), factors_f64(step));
        ((f64::from(single) / double - 1.0).abs(), step)
    });
    let (error, step) = errors.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    println!("largest relative error {error:.2e}, at step {step}");
    record("factors.f32", TensorData::new(single, [STEPS, 2]));
    record("factors.f64", TensorData::new(double, [STEPS, 2]));
}

// --8<-- [start:mend]
/// burn's Adam, its settings and the factors of each step in f64.
#[derive(Clone)]
struct MendedAdam {
    beta_1: f64,
    beta_2: f64,
    epsilon: f64,
}

impl Optimizer for MendedAdam {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        lr: f64,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, Option<AdamState<D>>) {
        let zeros = gradient.zeros_like();
        let (time, m, v) = match state.map(|state| state.momentum) {
            Some(last) => (last.time + 1, last.moment_1, last.moment_2),
            None => (1, zeros.clone(), zeros),
        };
        let m = m * self.beta_1 + gradient.clone() * (1.0 - self.beta_1);
        let v = v * self.beta_2 + gradient.square() * (1.0 - self.beta_2);

        let correction = (1.0 - self.beta_2.powi(time as i32)).sqrt();
        let combined = correction / (1.0 - self.beta_1.powi(time as i32));
        let update = m.clone() * combined
            / (v.clone().sqrt() + self.epsilon * correction);

        let momentum = AdaptiveMomentumState::new(time, m, v);
        (tensor - update * lr, Some(AdamState::new(momentum)))
    }

    fn to_device<const D: usize>(
        state: AdamState<D>,
        device: &Device,
    ) -> AdamState<D> {
        AdamState::new(state.momentum.to_device(device))
    }
}
// --8<-- [end:mend]

/// With both mended, and with the factors alone: from the settings as burn keeps them.
fn mends() -> (MendedAdam, MendedAdam) {
    let mended = MendedAdam { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8 };
    let [beta_1, beta_2, epsilon] = [BETA_1, BETA_2, EPSILON].map(f64::from);
    (mended, MendedAdam { beta_1, beta_2, epsilon })
}

fn mend(device: &Device) {
    let (mended, factors_only) = mends();
    run("mended", mended.into(), ADAM_LR, device);
    let (_, _, trajectory) =
        train(build(device), factors_only.into(), ADAM_LR, task(device));
    note("factors-only.trajectory", trajectory.into_data());
}

// --8<-- [start:device]
/// The processor, with `float` as the type of every float tensor made on it.
fn device(float: FloatDType) -> Device {
    let mut device = Device::flex();
    device.configure(float).unwrap();
    device.autodiff()
}
// --8<-- [end:device]

fn main() {
    match std::env::args().nth(1).as_deref() {
        None => {
            let device = device(FloatDType::F32);
            let (x, y) = task(&device);
            record("task.x", x.into_data());
            record("task.y", y.into_data());
            record(
                "task.sizes",
                [SERIES, POINTS, CLASSES, BATCH, STEPS, CHANNELS, KERNEL],
            );
            record("task.table", TABLE);
            record("task.lr", [SGD_LR as f32, ADAM_LR as f32]);
            record("task.epsilon", [EPSILON]);
            section("trainings");
            run("sgd", sgd(), SGD_LR, &device);
            run("adam", adam(1e-8), ADAM_LR, &device);
            section("small-gradient");
            small_gradient(&device);
        }
        Some("f64") => {
            let device = device(FloatDType::F64);
            section("f64");
            run("sgd", sgd(), SGD_LR, &device);
            run("adam", adam(1e-8), ADAM_LR, &device);
            section("f64-small-gradient");
            small_gradient(&device);
        }
        Some("factors") => {
            section("factors");
            compare_factors();
        }
        Some("replica") => {
            let device = device(FloatDType::F64);
            run("adam", adam(1e-8), ADAM_LR, &device);
        }
        Some("mend") => {
            let device = device(FloatDType::F64);
            mend(&device);
        }
        Some("mend-f32") => {
            let device = device(FloatDType::F32);
            mend(&device);
        }
        Some("defaults") => {
            section("defaults");
            println!("{}", AdamConfig::new());
            run(
                "adam",
                AdamConfig::new().init(),
                ADAM_LR,
                &device(FloatDType::F32),
            );
        }
        Some("teaser") => {
            let device = device(FloatDType::F32);
            section("teaser");
            run("half-lr", adam(1e-8), ADAM_LR / 2.0, &device);
            run("large-epsilon", adam(1e-3), ADAM_LR, &device);
        }
        Some(other) => panic!("no run named {other}"),
    }
}
