//! What an optimizer remembers, where it keeps it, and what becomes of it when the model is saved, loaded or copied.

use std::fmt::Display;

use burn::module::Param;
use burn::nn::LinearConfig;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdjustLrFn,
    GradientsParams, LBFGSConfig, ModuleOptimizer, MuonConfig, Optimizer,
    RecordState, RmsPropConfig, SgdConfig, StateSink,
};
use burn::prelude::*;
use burn::store::{ModuleSnapshot, SafetensorsStore};
use burn::tensor::FloatDType;
use lesson::{note, record, section};
use serde_json::Value;

// --8<-- [start:knobs]
// --8<-- [part:module]
#[derive(Module, Debug)]
struct Knobs {
    gain: Param<Tensor<1>>,
    shift: Param<Tensor<1>>,
}

impl Knobs {
    fn new(device: &Device) -> Self {
        let zero = || Param::from_tensor(Tensor::zeros([1], device));
        Knobs { gain: zero(), shift: zero() }
    }

    // --8<-- [part:loss]
    /// The gradients of this loss are the two slopes.
    fn loss(&self, [gain, shift]: Slopes) -> Tensor<1> {
        self.gain.val() * gain + self.shift.val() * shift
    }
}
// --8<-- [part:steps]

fn advance(
    mut model: Knobs,
    optimizer: &mut ModuleOptimizer,
    slopes: &[Slopes],
) -> Knobs {
    for &both in slopes {
        let gradients = model.loss(both).backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        model = optimizer.step(LR, model, gradients);
    }
    model
}
// --8<-- [end:knobs]

// --8<-- [start:settings]
type Slopes = [f64; 2];
const LR: f64 = 0.1;
const SLOPES: [Slopes; 4] = [[1.0, 0.1], [0.5, 0.1], [0.1, 0.5], [0.1, 1.0]];

/// PyTorch's defaults, said out loud.
fn momentum() -> SgdConfig {
    let momentum = MomentumConfig::new().with_dampening(0.0);
    SgdConfig::new().with_momentum(Some(momentum))
}

fn adam() -> AdamConfig {
    AdamConfig::new().with_epsilon(1e-8)
}

fn adamw() -> AdamWConfig {
    AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(0.01)
}
// --8<-- [end:settings]

fn values(model: &Knobs) -> [f32; 2] {
    let value = |knob: &Param<Tensor<1>>| knob.val().into_scalar::<f32>();
    [value(&model.gain), value(&model.shift)]
}

// --8<-- [start:kept]
/// Make one step with one tensor, and list what there is to remember.
fn kept<O: Optimizer>(name: &str, optimizer: O, device: &Device) {
    let tensor = Tensor::<1>::zeros([3], device);
    let gradient = Tensor::ones([3], device);
    let (_, state) = optimizer.step(LR, tensor, gradient, None);
    let mut kept = StateSink::default();
    state.unwrap().state_flatten("", &mut kept);

    println!("{name}");
    for (name, data) in &kept.tensors {
        println!("  {name} {:?}", data.shape().to_vec());
    }
    for (name, value) in &kept.scalars {
        println!("  {name} = {value:?}");
    }
    record(&format!("kept.{name}"), [kept.tensors.len()]);
}
// --8<-- [end:kept]

fn keys(device: &Device) {
    section("keys");
    // --8<-- [start:keys]
    let model = Knobs::new(device);
    let id = model.gain.id;
    let mut optimizer = adam().init();
    let model = advance(model, &mut optimizer, &SLOPES[..3]);
    println!("after steps, same id: {}", model.gain.id == id);
    println!("in the clone, same id: {}", model.clone().gain.id == id);

    model.save_file("knobs.bpk").unwrap();
    let fresh = Knobs::new(device);
    println!("in a new model, same id: {}", fresh.gain.id == id);
    let loaded = fresh.load_file("knobs.bpk");
    println!("loaded into it, same id: {}", loaded.gain.id == id);
    println!("{:?}", optimizer.to_record());
    // --8<-- [end:keys]
}

const STEPS: usize = 100;

fn waves() -> Vec<Slopes> {
    let k = (0..STEPS).map(|k| k as f64);
    k.map(|k| [(0.3 * k).cos(), 0.01 + 0.1 * (0.7 * k).sin()]).collect()
}

// --8<-- [start:resume]
/// Both knobs after each step, stopped and taken up again at `stop`.
fn trace(
    name: &str,
    new: &dyn Fn() -> ModuleOptimizer,
    stop: Option<usize>,
    device: &Device,
) -> Vec<f32> {
    let (mut model, mut optimizer) = (Knobs::new(device), new());
    let mut rows = Vec::new();
    for (k, both) in waves().into_iter().enumerate() {
        if Some(k) == stop {
            // --8<-- [part:save]
            model.save_file(format!("{name}-model.bpk")).unwrap();
            optimizer.save(format!("{name}-optimizer.bpk")).unwrap();
            // --8<-- [part:load]
            // nothing is left of these two but the files
            model = Knobs::new(device).load_file(format!("{name}-model.bpk"));
            optimizer = new().load(format!("{name}-optimizer.bpk")).unwrap();
            // --8<-- [part:]
        }
        model = advance(model, &mut optimizer, &[both]);
        rows.extend(values(&model));
    }
    rows
}
// --8<-- [end:resume]

fn resume(device: &Device) {
    let optimizers: [(&str, &dyn Fn() -> ModuleOptimizer); 3] = [
        ("momentum", &|| momentum().init()),
        ("adam", &|| adam().init()),
        ("adamw", &|| adamw().init()),
    ];
    for (name, new) in optimizers {
        let shaped = |rows| TensorData::new(rows, [STEPS, 2]);
        let straight = trace(name, new, None, device);
        let resumed = trace(name, new, Some(STEPS / 2), device);
        record(&format!("straight.{name}"), shaped(straight));
        record(&format!("resumed.{name}"), shaped(resumed));
    }
}

// --8<-- [start:copies]
/// Three steps, a copy of the model, a fourth step with the same optimizer:
/// both knobs, and how many tensors the optimizer then holds.
fn continued(
    copy: impl FnOnce(Knobs) -> Knobs,
    device: &Device,
) -> ([f32; 2], usize) {
    let mut optimizer = adam().init();
    let model = Knobs::new(device);
    let model = advance(model, &mut optimizer, &SLOPES[..3]);
    let model = advance(copy(model), &mut optimizer, &SLOPES[3..]);
    (values(&model), optimizer.to_record().len())
}

fn rebuilt(old: Knobs) -> Knobs {
    let copy = |knob: Param<Tensor<1>>| Param::from_tensor(knob.val().detach());
    Knobs { gain: copy(old.gain), shift: copy(old.shift) }
}

fn rebuilt_with_ids(old: Knobs) -> Knobs {
    let copy = |knob: Param<Tensor<1>>| {
        let value = knob.val().detach().require_grad();
        Param::initialized(knob.id, value)
    };
    Knobs { gain: copy(old.gain), shift: copy(old.shift) }
}
// --8<-- [end:copies]

fn copies(device: &Device) {
    section("copied");
    // --8<-- [start:copied]
    let through_record =
        |old: Knobs| Knobs::new(device).load_record(old.into_record());
    let through_safetensors = |old: Knobs| {
        let mut store =
            SafetensorsStore::from_file("knobs.safetensors").overwrite(true);
        old.save_into(&mut store).unwrap();
        let mut model = Knobs::new(device);
        model.load_from(&mut store).unwrap();
        model
    };
    let ways = [
        ("itself", continued(|old| old, device)),
        ("clone", continued(|old| old.clone(), device)),
        ("record", continued(through_record, device)),
        ("safetensors", continued(through_safetensors, device)),
        ("rebuilt", continued(rebuilt, device)),
        ("rebuilt_with_ids", continued(rebuilt_with_ids, device)),
    ];
    for (name, ([gain, shift], tensors)) in ways {
        println!("{name:16} {gain:.5} {shift:.5}  {tensors} tensors");
    }
    // --8<-- [end:copied]
    for (name, (both, tensors)) in ways {
        note(&format!("copied.{name}"), both);
        note(&format!("copied.{name}.tensors"), [tensors]);
    }
    let [straight, _, loaded, _, restarted, _] = ways.map(|(_, way)| way.0);
    record("copies.straight", straight);
    record("copies.continued", loaded);
    record("copies.restarted", restarted);
}

fn resettled(device: &Device) {
    section("resettled");
    // --8<-- [start:resettled]
    // --8<-- [part:three-steps]
    let mut optimizer = adam().init();
    let model = Knobs::new(device);
    let model = advance(model, &mut optimizer, &SLOPES[..3]);
    let saved = optimizer.into_bytes().unwrap();

    // --8<-- [part:other-settings]
    let changed = adam().with_beta_1(0.5).init();
    let mut optimizer = changed.from_bytes(saved).unwrap();
    // --8<-- [part:fourth-step]
    let model = advance(model, &mut optimizer, &SLOPES[3..]);
    println!("gain {:.5}, shift {:.5}", values(&model)[0], values(&model)[1]);
    // --8<-- [end:resettled]
    record("resettled", values(&model));
    record("resettled.again", values(&model));
}

// --8<-- [start:walk]
/// A tensor after each step, for as many steps as there are gradients.
fn walk<const N: usize>(
    name: &str,
    optimizer: impl Optimizer,
    lr: f64,
    start: [f64; N],
    gradients: &[[f64; N]],
    device: &Device,
) {
    let mut tensor = Tensor::<1>::from_data(start, device);
    let mut state = None;
    let mut rows = Vec::new();
    for &gradient in gradients {
        let gradient = Tensor::from_data(gradient, device);
        (tensor, state) = optimizer.step(lr, tensor, gradient, state);
        rows.push(tensor.clone());
    }
    record(name, Tensor::stack::<2>(rows, 0).into_data());
}
// --8<-- [end:walk]

// --8<-- [start:case]
/// Walk with burn's defaults and with PyTorch's.
fn case<O: Optimizer>(
    name: &str,
    [as_is, set]: [O; 2],
    (lr, start, gradient, steps): (f64, [f64; 2], [f64; 2], usize),
    device: &Device,
) {
    let gradients = vec![gradient; steps];
    for (kind, optimizer) in [("default", as_is), ("set", set)] {
        let name = format!("{kind}.{name}");
        walk(&name, optimizer, lr, start, &gradients, device);
    }
}

// --8<-- [end:case]

// --8<-- [start:cases]
fn cases(device: &Device) {
    let (zero, one, small) = ([0.0, 0.0], [1.0, 1.0], [1e-4, 1.0]);
    let both = [AdamConfig::new(), adam()].map(|c| c.build());
    case("adam", both, (1e-3, zero, [1e-6, 1.0], 1), device);
    let decay = Some(WeightDecayConfig::new(0.1));
    let both = [AdamConfig::new(), adam()]
        .map(|c| c.with_weight_decay(decay.clone()).build());
    case("adam-l2", both, (0.1, one, zero, 1), device);
    let both = [AdamWConfig::new(), adamw()].map(|c| c.build());
    case("adamw", both, (0.1, one, zero, 1), device);
    let damped = SgdConfig::new().with_momentum(Some(MomentumConfig::new()));
    let both = [damped, momentum()].map(|c| c.build());
    case("momentum", both, (1.0, zero, one, 3), device);
    let set = AdaGradConfig::new().with_epsilon(1e-10);
    let both = [AdaGradConfig::new(), set].map(|c| c.build());
    case("adagrad", both, (0.01, zero, small, 2), device);
    let set = RmsPropConfig::new().with_momentum(0.0).with_epsilon(1e-8);
    let both = [RmsPropConfig::new(), set].map(|c| c.build());
    case("rmsprop", both, (0.01, zero, small, 3), device);
}
// --8<-- [end:cases]

fn adafactor(device: &Device) {
    let optimizer = AdafactorConfig::new().build();
    let gradients = [[1e-4, 1.0]; 3];
    walk("same.adafactor", optimizer, 0.01, [1.0, 2.0], &gradients, device);
}

// --8<-- [start:defaults]
fn say(name: &str, config: &impl Display) {
    let json: Value = serde_json::from_str(&config.to_string()).unwrap();
    println!("{name} {json}");
}

fn defaults() {
    section("defaults");
    say("SGD", &SgdConfig::new());
    say("Momentum", &MomentumConfig::new());
    say("Adam", &AdamConfig::new());
    say("AdamW", &AdamWConfig::new());
    say("Adagrad", &AdaGradConfig::new());
    say("RMSprop", &RmsPropConfig::new());
    say("Muon", &MuonConfig::new());
    say("Adafactor", &AdafactorConfig::new());
    say("LBFGS", &LBFGSConfig::new());
}
// --8<-- [end:defaults]

fn muon(device: &Device) {
    section("muon");
    // --8<-- [start:muon]
    let linear = LinearConfig::new(2, 8).with_bias(false).init(device);
    println!("weight {:?}", linear.weight.dims());
    let values = (0..16).map(|k| (k as f64 + 1.0).sin()).collect();
    let gradient = TensorData::new(values, [8, 2]);
    let gradient = Tensor::<2>::from_data::<TensorData>(gradient, device);
    let rules = [
        ("original", AdjustLrFn::Original),
        ("match_rms", AdjustLrFn::MatchRmsAdamW),
    ];
    for (name, rule) in rules {
        let muon = MuonConfig::new().with_adjust_lr_fn(rule).build();
        let step = |gradient: Tensor<2>| {
            let weight = gradient.zeros_like();
            muon.step(1.0, weight, gradient, None).0
        };
        // as burn's Linear keeps it, then as PyTorch's does
        let turned = step(gradient.clone().transpose()).transpose();
        let as_torch = step(gradient.clone());
        let length = |t: &Tensor<2>| {
            t.clone().square().sum().sqrt().into_scalar::<f32>()
        };
        println!("{name}: {:.3}, {:.3}", length(&turned), length(&as_torch));
        // --8<-- [end:muon]
        record(&format!("muon.{name}.same-shape"), as_torch.into_data());
        record(&format!("muon.{name}.linear"), turned.into_data());
    }
}

// --8<-- [start:drift]
/// A hundred steps with one steady gradient and one that swings.
fn drift(device: &Device) {
    let swing = |k| [1.0, (0.3 * k as f64).cos()];
    let gradients: Vec<[f64; 2]> = (0..STEPS).map(swing).collect();
    let (lr, start) = (0.01, [1.0, 1.0]);
    let sgd = SgdConfig::new().build();
    walk("drift.sgd", sgd, lr, start, &gradients, device);
    let heavy = momentum().build();
    walk("drift.momentum", heavy, lr, start, &gradients, device);
    let adam = adam().build();
    walk("drift.adam", adam, lr, start, &gradients, device);
    let adamw = adamw().build();
    walk("drift.adamw", adamw, lr, start, &gradients, device);
    // --8<-- [end:drift]
    let heavy = momentum().build();
    walk("drift.momentum-as-burn", heavy, lr, start, &gradients, device);
    let three = [[0.1], [0.2], [0.3]];
    walk("three", crate::adam().build(), 1e-3, [0.0], &three, device);
}

// --8<-- [start:reordered]
// --8<-- [part:other-order]
#[derive(Module, Debug)]
struct Reordered {
    shift: Param<Tensor<1>>,
    gain: Param<Tensor<1>>,
}

fn reordered(device: &Device) {
    // --8<-- [part:save]
    let mut optimizer = adam().init();
    let model = Knobs::new(device);
    let model = advance(model, &mut optimizer, &SLOPES[..3]);
    model.save_file("model.bpk").unwrap();
    optimizer.save("optimizer.bpk").unwrap();

    // --8<-- [part:load]
    let Knobs { gain, shift } = Knobs::new(device);
    let model = Reordered { shift, gain }.load_file("model.bpk");
    let mut optimizer = adam().init().load("optimizer.bpk").unwrap();
    let value = |knob: &Param<Tensor<1>>| knob.val().into_scalar::<f32>();
    println!(
        "gain {:.5}, shift {:.5}",
        value(&model.gain),
        value(&model.shift)
    );

    // --8<-- [part:fourth-step]
    let [gain, shift] = SLOPES[3];
    let loss = model.gain.val() * gain + model.shift.val() * shift;
    let gradients = GradientsParams::from_grads(loss.backward(), &model);
    let model = optimizer.step(LR, model, gradients);
    println!(
        "gain {:.5}, shift {:.5}",
        value(&model.gain),
        value(&model.shift)
    );
    // --8<-- [end:reordered]
    record("reordered", [value(&model.gain), value(&model.shift)]);
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            section("kept");
            kept("SGD", SgdConfig::new().build(), &device);
            kept("momentum", momentum().build(), &device);
            kept("Adam", adam().build(), &device);
            kept("AMSGrad", adam().with_amsgrad(true).build(), &device);
            kept("AdamW", adamw().build(), &device);
            keys(&device);
            resume(&device);
            copies(&device);
            resettled(&device);
            cases(&device);
            adafactor(&device);
            muon(&device);
            drift(&device);
        }
        Some("f64") => {
            let mut device = Device::flex();
            device.configure(FloatDType::F64).unwrap();
            drift(&device);
        }
        Some("defaults") => defaults(),
        Some("reordered") => {
            section("reordered");
            reordered(&device);
        }
        Some(other) => panic!("no run named {other}"),
    }
}
