//! Layers that behave differently in training and in evaluation: dropout, batch norm, and who switches them.

use burn::module::{Param, RunningState};
use burn::nn::loss::{MseLoss, Reduction};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, GroupNormConfig,
    InstanceNormConfig, LayerNormConfig, Linear, LinearConfig, RmsNormConfig,
};
use burn::optim::{GradientsParams, ModuleOptimizer, SgdConfig};
use burn::prelude::*;
use burn::tensor::DType;
use burn::tensor::activation::relu;
use lesson::{note, record, section};

// --8<-- [start:fill]
/// f(0), f(1), … computed in f64 and rounded once.
fn fill<const D: usize>(
    f: impl Fn(usize) -> f64,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    let n = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| f(i) as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}
// --8<-- [end:fill]

fn list<const D: usize>(values: &Tensor<D>) -> Vec<f32> {
    values.to_data().iter().collect()
}

fn show<const D: usize>(values: &Tensor<D>) -> String {
    let text = list(values).into_iter().map(|x| format!("{x:.4}"));
    text.collect::<Vec<_>>().join(" ")
}

fn dropout(device: &Device) {
    section("dropout");
    device.seed(1);
    // --8<-- [start:dropout]
    // --8<-- [part:layer]
    let drop = DropoutConfig::new(0.3).init();
    // --8<-- [part:forward]
    let x = fill(|i| 2.0 + (i as f64).sin(), [20_000], device);
    let x = x.require_grad();
    let y = drop.forward(x.clone());
    // --8<-- [part:gradient]
    let gradients = y.clone().sum().backward();
    let factor = x.grad(&gradients).unwrap();
    let mut factors = list(&factor);
    factors.sort_by(f32::total_cmp);
    factors.dedup();
    // --8<-- [part:]
    let kept = y.clone().not_equal_scalar(0.0).float().mean();
    let [kept, before, after] = [kept, x.clone().mean(), y.clone().mean()]
        .map(|t| t.into_scalar::<f32>());
    println!("kept {kept:.3}");
    println!("mean before {before:.4}, after {after:.4}");
    println!("factors {:.4} {:.4}", factors[0], factors[1]);
    // --8<-- [end:dropout]
    note("dropout.kept", [kept]);
    note("dropout.mean", [before, after]);
    let product = list(&x).into_iter().zip(list(&factor)).map(|(x, f)| x * f);
    let same = list(&y).into_iter().zip(product).filter(|(y, p)| y == p);
    note("dropout.same", [same.count() as i64]);
    record("dropout.factors", factors.as_slice());
}

fn batch_norm(device: &Device) {
    section("batch-norm");
    // --8<-- [start:batch-norm]
    // --8<-- [part:layer]
    let norm = BatchNormConfig::new(1).init(device);
    // --8<-- [part:forward]
    let x = Tensor::<2>::from_data([[1.0], [2.0], [3.0], [6.0]], device);
    let y = norm.forward(x);
    // --8<-- [part:statistics]
    let mean = norm.running_mean.value_sync();
    let var = norm.running_var.value_sync();
    // --8<-- [part:]
    println!("output {}", show(&y));
    println!("running mean {}", show(&mean));
    println!("running var  {}", show(&var));
    // --8<-- [end:batch-norm]
    record("batch.output", y.into_data());
    record("batch.running_mean", mean.into_data());
    record("batch.running_var", var.into_data());
}

/// The running mean and variance of a new layer after one batch, for three momenta.
fn momentum(device: &Device) {
    for m in [0.0, 0.1, 1.0] {
        let norm = BatchNormConfig::new(1).with_momentum(m).init(device);
        let x = Tensor::<2>::from_data([[1.0], [2.0], [3.0], [6.0]], device);
        norm.forward(x);
        let mean = norm.running_mean.value_sync();
        record(&format!("momentum.mean.{m:.1}"), mean.into_data());
        let var = norm.running_var.value_sync();
        record(&format!("momentum.var.{m:.1}"), var.into_data());
    }
}

fn gradients(device: &Device) {
    section("gradients");
    // --8<-- [start:gradients]
    // --8<-- [part:layer]
    let mut norm = BatchNormConfig::new(3).init(device);
    // --8<-- [part:input]
    let x = fill(|i| (0.7 * i as f64).sin(), [4, 3, 2, 5], device);
    let x = x.require_grad();
    let w = fill(|i| (0.3 * i as f64).cos(), [4, 3, 2, 5], device);
    // --8<-- [part:backward]
    let y = norm.forward(x.clone());
    let gradients = (y.clone() * w).sum().backward();
    // --8<-- [part:read]
    let dx = x.grad(&gradients).unwrap();
    let dgamma = norm.gamma.val().grad(&gradients).unwrap();
    let dbeta = norm.beta.val().grad(&gradients).unwrap();
    // --8<-- [part:]
    println!("d/d gamma {}", show(&dgamma));
    println!("d/d beta  {}", show(&dbeta));
    let row = dx.clone().slice([0..1, 0..1, 0..1]);
    println!("d/d x     {}", show(&row));
    // --8<-- [end:gradients]
    record("grad.output", y.into_data());
    record("grad.x", dx.into_data());
    record("grad.gamma", dgamma.into_data());
    record("grad.beta", dbeta.into_data());
    let mean = fill(|i| (i as f64 + 1.0).sin(), [3], device);
    let var = fill(|i| 2.0 + (i as f64).cos(), [3], device);
    norm.running_mean = RunningState::new(mean);
    norm.running_var = RunningState::new(var);
    record("carried.output", norm.valid().forward(x).into_data());
}

// --8<-- [start:block]
#[derive(Module, Debug)]
struct Block {
    norm: BatchNorm,
    dropout: Dropout,
}

impl Block {
    fn new(device: &Device) -> Self {
        let norm = BatchNormConfig::new(1).init(device);
        Self { norm, dropout: DropoutConfig::new(0.5).init() }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.dropout.forward(self.norm.forward(x))
    }
}

/// The different values of y, to four digits, in order.
fn distinct(y: &Tensor<2>) -> Vec<f32> {
    let round = |v: f32| ((v * 1e4).round() + 0.0) / 1e4;
    let mut values: Vec<f32> = list(y).into_iter().map(round).collect();
    values.sort_by(f32::total_cmp);
    values.dedup();
    values
}
// --8<-- [end:block]

fn modes(device: &Device) {
    section("modes");
    device.seed(1);
    // --8<-- [start:modes]
    let out = |name, block: Block, device: &Device| {
        let x = Tensor::<1>::from_data([1.0, 2.0, 3.0, 6.0], device);
        let y = block.forward(x.repeat(&[64]).reshape([-1, 1]));
        let text: Vec<_> =
            distinct(&y).iter().map(|v| format!("{v:.2}")).collect();
        println!("{name:17} {}", text.join(" "));
        distinct(&y)
    };
    let plain = device.clone().inner();
    let block = || Block::new(device);
    // --8<-- [part:train]
    let train = out("as built", block(), device);
    // --8<-- [part:valid]
    let valid = out("valid()", block().valid(), &plain);
    let on_ad = out("valid(), autodiff", block().valid(), device);
    // --8<-- [part:half]
    let half = out("as built, plain", block(), &plain);
    // --8<-- [part:frozen]
    let no_grad = out("no_grad()", block().no_grad(), device);
    let frozen = out("freeze()", block().freeze(), device);
    // --8<-- [part:]
    // --8<-- [end:modes]
    record("modes.train", train.as_slice());
    record("modes.valid", valid.as_slice());
    record("modes.half", half.as_slice());
    note("modes.valid_on_autodiff", on_ad.as_slice());
    // to_device keeps autodiff
    let x = Tensor::<1>::from_data([1.0, 2.0, 3.0, 6.0], device);
    let x = x.repeat(&[64]).reshape([-1, 1]).to_device(&plain);
    note("modes.moved", distinct(&block().forward(x)).as_slice());
    let block = block().freeze();
    block.forward(Tensor::from_data([[1.0], [2.0], [3.0], [6.0]], device));
    let mean = block.norm.running_mean.value_sync();
    note("modes.frozen_mean", mean.into_data());
    note("modes.no_grad", no_grad.as_slice());
    note("modes.freeze", frozen.as_slice());
}

// --8<-- [start:net]
const TRAIN: usize = 96;
const VALID: usize = 32;
const FEATURES: usize = 4;
const HIDDEN: usize = 8;
const BATCH: usize = 16;
const EPOCHS: usize = 3;
const LR: f64 = 0.1;

#[derive(Module, Debug)]
struct Net {
    fc1: Linear,
    norm: BatchNorm,
    fc2: Linear,
}

impl Net {
    fn new(device: &Device) -> Self {
        // PyTorch keeps [out, in], burn [in, out]
        let linear = |d_in, d_out, scale: f64| {
            let w =
                fill(|i| scale * (i as f64 + 1.0).sin(), [d_out, d_in], device);
            let mut linear = LinearConfig::new(d_in, d_out).init(device);
            linear.weight = Param::from_tensor(w.transpose());
            let zeros = Tensor::zeros([d_out], device);
            linear.bias = Some(Param::from_tensor(zeros));
            linear
        };
        Self {
            fc1: linear(FEATURES, HIDDEN, 0.3),
            norm: BatchNormConfig::new(HIDDEN).init(device),
            fc2: linear(HIDDEN, 1, 0.7),
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(relu(self.norm.forward(self.fc1.forward(x))))
    }
}
// --8<-- [end:net]

// --8<-- [start:data]
/// x [n, FEATURES] and its target [n, 1], from row `start` on.
fn data(start: usize, n: usize, device: &Device) -> (Tensor<2>, Tensor<2>) {
    let x = |k, j| (0.37 * (start + k) as f64 + 1.3 * j as f64).sin();
    let row = |i| x(i / FEATURES, i % FEATURES);
    let rows = fill(row, [n, FEATURES], device);
    (rows, fill(|k| x(k, 0) * x(k, 1), [n, 1], device))
}

fn mse(model: &Net, x: Tensor<2>, target: Tensor<2>) -> Tensor<1> {
    MseLoss::new().forward(model.forward(x), target, Reduction::Mean)
}
// --8<-- [end:data]

// --8<-- [start:epoch]
/// Train on every batch once; the model and the losses.
fn epoch(
    mut model: Net,
    optimizer: &mut ModuleOptimizer,
    // --8<-- [part:train]
    device: &Device, // with autodiff
                     // --8<-- [part:]
) -> (Net, Vec<f32>) {
    let mut losses = Vec::new();
    for start in (0..TRAIN).step_by(BATCH) {
        // --8<-- [part:forward]
        let (x, target) = data(start, BATCH, device);
        let loss = mse(&model, x, target);
        losses.push(loss.clone().into_scalar::<f32>());
        // --8<-- [part:backward]
        let gradients = loss.backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        // --8<-- [part:step]
        model = optimizer.step(LR, model, gradients);
        // --8<-- [part:]
    }
    (model, losses)
}

fn validate(model: &Net, device: &Device) -> f32 {
    // --8<-- [part:valid]
    let model = model.valid();
    // --8<-- [part:]
    let (x, target) = data(TRAIN, VALID, &device.clone().inner());
    mse(&model, x, target).into_scalar::<f32>()
}
// --8<-- [end:epoch]

fn training(device: &Device) {
    section("training");
    // --8<-- [start:training]
    let mut model = Net::new(device);
    let mut optimizer = SgdConfig::new().init();
    let (mut losses, mut scores) = (Vec::new(), Vec::new());
    let mut untouched = true;
    for _ in 0..EPOCHS {
        let (trained, some) = epoch(model, &mut optimizer, device);
        (model, losses) = (trained, [losses, some].concat());
        let before = list(&model.norm.running_mean.value_sync());
        scores.push(validate(&model, device));
        untouched &= list(&model.norm.running_mean.value_sync()) == before;
    }
    println!("last training loss {:.4}", losses.last().unwrap());
    println!("validation {:.4} {:.4} {:.4}", scores[0], scores[1], scores[2]);
    // --8<-- [end:training]
    note("task.train", [TRAIN as i64]);
    note("task.batch", [BATCH as i64]);
    note("untouched", [untouched]);
    record("train_loss", losses.as_slice());
    record("valid_loss", scores.as_slice());
    let BatchNorm { running_mean, running_var, .. } = &model.norm;
    record("running.mean", running_mean.value_sync().into_data());
    record("running.var", running_var.value_sync().into_data());
    convert(model, losses.len(), device);
}

fn convert(mut model: Net, steps: usize, device: &Device) {
    section("convert");
    // --8<-- [start:convert]
    let left = (1.0 - model.norm.momentum).powi(steps as i32);
    let n = BATCH as f64;
    let var = model.norm.running_var.value_sync();
    let var = (var - left) * (n / (n - 1.0)) + left;
    model.norm.running_var = RunningState::new(var.clone());
    let loss = validate(&model, device);
    println!("validation {loss:.4}");
    // --8<-- [end:convert]
    record("converted.var", var.into_data());
    let (x, _) = data(TRAIN, VALID, &device.clone().inner());
    record("converted.output", model.valid().forward(x).into_data());
    record("converted.loss", [loss]);
}

/// Validation done right and wrong, on a model after one epoch.
fn ways(device: &Device) {
    section("ways");
    // --8<-- [start:ways]
    let mut sgd = SgdConfig::new().init();
    let (model, _) = epoch(Net::new(device), &mut sgd, device);

    let plain = device.clone().inner();
    let loss = |name, model: &Net, device: &Device| {
        let (x, target) = data(TRAIN, VALID, device);
        let loss = mse(model, x, target).into_scalar::<f32>();
        println!("{name:24} {loss:.6}");
        loss
    };
    // --8<-- [part:right]
    let right = loss("valid(), plain", &model.valid(), &plain);
    // --8<-- [part:]
    let on_ad = loss("valid(), autodiff", &model.valid(), device);
    // --8<-- [part:forgotten]
    let before = list(&model.norm.running_mean.value_sync());
    let forgotten = loss("valid() forgotten, plain", &model, &plain);
    // --8<-- [part:]
    let moved = list(&model.norm.running_mean.value_sync()) != before;
    println!("running mean moved: {moved}");
    // --8<-- [end:ways]
    note("ways.right", [right]);
    note("ways.on_autodiff", [on_ad]);
    note("ways.forgotten", [forgotten]);
    note("ways.moved", [moved]);
}

fn saved(device: &Device) {
    section("saved");
    // --8<-- [start:saved]
    // --8<-- [part:forward]
    let norm = BatchNormConfig::new(1).init(device);
    let x = Tensor::<2>::from_data([[1.0], [2.0], [3.0], [6.0]], device);
    norm.forward(x);
    // --8<-- [part:save]
    norm.clone().save_file("norm.bpk").unwrap();
    // --8<-- [part:load]
    let other = BatchNormConfig::new(1).init(device);
    let file = other.load_file("norm.bpk").running_mean.value();
    // --8<-- [part:]
    let value = norm.running_mean.value();
    let sync = norm.running_mean.value_sync();
    println!("in the layer, value()      {}", show(&value));
    println!("in the file                {}", show(&file));
    println!("in the layer, value_sync() {}", show(&sync));
    // --8<-- [end:saved]
    note("saved.value", value.into_data());
    note("saved.file", file.into_data());
    note("saved.sync", sync.into_data());
}

/// A layer saved after valid(), and what a layer that has trained holds after a fresh one's file was loaded into it.
fn loaded_over(device: &Device) {
    let fresh = || BatchNormConfig::new(1).init(device);
    let trained = || {
        let norm = fresh();
        let x = Tensor::<2>::from_data([[1.0], [2.0], [3.0], [6.0]], device);
        norm.forward(x);
        norm
    };
    trained().valid().save_file("valid.bpk").unwrap();
    let loaded = fresh().load_file("valid.bpk").running_mean.value();
    note("saved.valid", loaded.into_data());
    fresh().save_file("fresh.bpk").unwrap();
    let mean = trained().load_file("fresh.bpk").valid().running_mean.value();
    note("loaded.mean", mean.into_data());
    let synced = trained().valid().train().load_file("fresh.bpk");
    note("loaded.after_valid", synced.valid().running_mean.value().into_data());
}

/// The layers next to these two, with their defaults.
fn neighbours(device: &Device) {
    let squares = fill(|i| (i * i) as f64, [2, 4, 3], device);
    let small = Tensor::<1>::from_data([1e-3, 2e-3, 4e-3], device);
    let x = Tensor::<1>::from_data([1.0, 2.0, 4.0], device);
    let layer = LayerNormConfig::new(3).init(device);
    record("layer.output", layer.forward(x).into_data());
    let group = GroupNormConfig::new(2, 4).init(device);
    record("group.output", group.forward(squares.clone()).into_data());
    let instance = InstanceNormConfig::new(4).init(device);
    record("instance.output", instance.forward(squares).into_data());
    let params = InstanceNormConfig::new(3).init(device).num_params();
    note("instance.parameters", [params as i64]);
    let params = BatchNormConfig::new(3).init(device).num_params();
    note("batch.parameters", [params as i64]);
    let rms = RmsNormConfig::new(3).init(device);
    record("rms.default", rms.forward(small.clone()).into_data());
    let rms = RmsNormConfig::new(3).with_epsilon(1e-5).init(device);
    record("rms.same_epsilon", rms.forward(small).into_data());

    let mut rms = RmsNormConfig::new(3).init(device);
    rms.gamma = Param::from_tensor(rms.gamma.val().cast(DType::F64));
    let third = TensorData::from([1.0 / 3.0, 2.0 / 3.0, 4.0 / 3.0_f64]);
    let third = Tensor::<1>::from_data(third, (device, DType::F64));
    record("rms.f64", rms.forward(third).into_data());
}

fn batch_of_one(device: &Device) {
    section("batch-of-one");
    // --8<-- [start:batch-of-one]
    let norm = BatchNormConfig::new(2).init(device);
    let y = norm.forward(Tensor::<2>::from_data([[1.0, 2.0]], device));
    println!("output {}", show(&y));
    let var = norm.running_var.value_sync();
    println!("running var {}", show(&var));
    // --8<-- [end:batch-of-one]
    note("output", y.into_data());
    note("var", var.into_data());
}

fn none_kept(device: &Device) {
    section("none-kept");
    // --8<-- [start:none-kept]
    let drop = DropoutConfig::new(1.0).init();
    let y = drop.forward(Tensor::<1>::ones([4], device));
    println!("output {}", show(&y));
    // --8<-- [end:none-kept]
}

fn best(device: &Device) {
    section("best");
    // --8<-- [start:best]
    let mut optimizer = SgdConfig::new().init();
    let (model, _) = epoch(Net::new(device), &mut optimizer, device);
    let best = model.clone();
    let kept = model.valid();
    let weight = list(&model.fc1.weight.val());
    let mean = list(&model.norm.running_mean.value_sync());
    epoch(model, &mut optimizer, device);

    let moved = list(&best.fc1.weight.val()) != weight;
    println!("weights moved: {moved}");
    let mean_moved = list(&best.norm.running_mean.value_sync()) != mean;
    println!("running mean moved: {mean_moved}");
    let kept_moved = list(&kept.norm.running_mean.value()) != mean;
    println!("running mean of valid() moved: {kept_moved}");
    // --8<-- [end:best]
    note("moved", [moved, mean_moved, kept_moved]);
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            dropout(&device);
            batch_norm(&device);
            momentum(&device);
            gradients(&device);
            modes(&device);
            training(&device);
            ways(&device);
            saved(&device);
            loaded_over(&device);
            neighbours(&device.clone().inner());
        }
        Some("batch-of-one") => batch_of_one(&device),
        Some("none-kept") => none_kept(&device),
        Some("best") => best(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
