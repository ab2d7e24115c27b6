//! What is tracked, for how long, and what the graph holds meanwhile.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use burn::module::{Param, ParamGroup};
use burn::nn::loss::{MseLoss, Reduction};
use burn::nn::{Linear, LinearConfig};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{GradientsParams, SgdConfig};
use burn::prelude::*;
use burn::tensor::activation::relu;
use lesson::{note, record, section};

// --8<-- [start:task]
const BATCH: usize = 8;
const FEATURES: usize = 4;
const WIDTH: usize = 6;
const STEPS: usize = 20;
const LR: f64 = 0.1;
const PENALTY: f32 = 0.01;

// --8<-- [part:body]
#[derive(Module, Debug)]
struct Body {
    fc1: Linear,
    fc2: Linear,
}

impl Body {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        relu(self.fc2.forward(relu(self.fc1.forward(x))))
    }
}

// --8<-- [part:net]
#[derive(Module, Debug)]
struct Net {
    body: Body,
    head: Linear,
}

impl Net {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.head.forward(self.body.forward(x))
    }
}
// --8<-- [end:task]

fn mse(y: Tensor<2>, t: Tensor<2>) -> Tensor<1> {
    MseLoss::new().forward(y, t, Reduction::Mean)
}

/// scale * sin(0.7 i + phase), computed in f64 and rounded once.
fn wave(
    phase: f64,
    scale: f64,
    shape: [usize; 2],
    device: &Device,
) -> Tensor<2> {
    let values = (0..shape[0] * shape[1])
        .map(|i| (scale * (0.7 * i as f64 + phase).sin()) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn build(width: usize, device: &Device) -> Net {
    // PyTorch keeps [out, in], burn [in, out]
    let linear = |phase: f64, d_in: usize, d_out: usize| {
        let scale = 1.0 / (d_in as f64).sqrt();
        let weight = wave(phase, scale, [d_out, d_in], device).transpose();
        let mut linear = LinearConfig::new(d_in, d_out).init(device);
        linear.weight = Param::from_tensor(weight);
        linear.bias = Some(Param::from_tensor(Tensor::zeros([d_out], device)));
        linear
    };
    Net {
        body: Body {
            fc1: linear(0.0, FEATURES, width),
            fc2: linear(1.0, width, width),
        },
        head: linear(2.0, width, 1),
    }
}

/// A layer's weight as PyTorch lays it out.
fn weight(layer: &Linear) -> TensorData {
    layer.weight.val().inner().transpose().into_data()
}

/// Inputs (BATCH, FEATURES) and targets (BATCH, 1).
fn task(device: &Device) -> (Tensor<2>, Tensor<2>) {
    let x = wave(0.3, 1.0, [BATCH, FEATURES], device);
    (x, wave(0.5, 1.0, [BATCH, 1], device))
}

fn switches(x: &Tensor<2>, device: &Device) {
    section("switches");
    let mut seen = Vec::new();
    let mut look = |state: &str, model: &Net| {
        let y = model.forward(x.clone());
        let tracked = y.is_tracked();
        let weight = model.head.weight.is_require_grad();
        println!("{state:24} output {tracked:5}  weight {weight}");
        seen.push(tracked);
        y.into_data()
    };
    // --8<-- [start:switches]
    let model = build(WIDTH, device);
    look("as built", &model);
    // --8<-- [part:off]
    let snapshot = model.valid();
    let y = look("model.valid()", &snapshot);
    // --8<-- [part:after]
    look("its train()", &snapshot.train());
    look("the original", &model);
    // --8<-- [part:lasting]
    let model = model.no_grad();
    look("model.no_grad()", &model);
    let model = model.valid().train();
    look("then valid(), train()", &model);
    // --8<-- [part:back]
    let model = model.set_require_grad(true);
    let restored = look("set_require_grad(true)", &model);
    // --8<-- [end:switches]
    record("switches.y", restored);
    record("switches.y_off", y);
    note("switches.round_trip", [seen.remove(2)]);
    let active = |model: &Net| {
        [&model.body.fc1, &model.head].map(|l| l.weight.is_require_grad())
    };
    let frozen = model.freeze();
    note("switches.freeze", active(&frozen));
    let frozen = frozen.valid().train();
    note("switches.freeze_train", active(&frozen));
    note("switches.unfreeze", active(&frozen.unfreeze()));
    // --8<-- [start:by-name]
    let body = ParamGroup::from_predicate("body");
    let model = build(WIDTH, device).set_require_grad_group(body, false);
    // --8<-- [end:by-name]
    note("switches.by_name", active(&model));
    record("switches.tracked", seen.as_slice());
}

fn mixed(x: &Tensor<2>, t: &Tensor<2>, device: &Device) {
    section("mixed");
    let (x, t) = (x.clone(), t.clone());
    // --8<-- [start:mixed]
    let model = build(WIDTH, device);
    // --8<-- [part:features]
    let features = model.body.valid().forward(x.inner());
    println!("features autodiff: {}", features.is_autodiff());
    // --8<-- [part:head]
    let y = model.head.forward(features);
    println!("output tracked: {}", y.is_tracked());
    // --8<-- [part:backward]
    let gradients = mse(y, t).backward();
    let gradient = model.head.weight.val().grad(&gradients).unwrap();
    let of_body = model.body.fc1.weight.val().grad(&gradients);
    println!("body has a gradient: {}", of_body.is_some());
    // --8<-- [end:mixed]
    record("mixed.gradient", gradient.transpose().into_data());
}

fn through(x: &Tensor<2>, t: &Tensor<2>, device: &Device) {
    section("through");
    let t = t.clone();
    // --8<-- [start:through]
    // --8<-- [part:freeze]
    let model = build(WIDTH, device).no_grad();
    // --8<-- [part:input]
    let x = x.clone().require_grad();
    let loss = mse(model.forward(x.clone()), t);
    let gradients = loss.backward();
    // --8<-- [part:look]
    let of_weight = model.head.weight.val().grad(&gradients);
    let of_input = x.grad(&gradients);
    println!("weight has a gradient: {}", of_weight.is_some());
    println!("input has a gradient: {}", of_input.is_some());
    // --8<-- [end:through]
    record("through.gradient", of_input.unwrap().into_data());
}

fn freeze(x: &Tensor<2>, t: &Tensor<2>, device: &Device) {
    section("freeze");
    // --8<-- [start:freeze]
    let mut model = build(WIDTH, device);
    // --8<-- [part:freeze]
    model.body = model.body.no_grad();
    // --8<-- [part:optimizer]
    let decay = WeightDecayConfig { penalty: PENALTY };
    let mut optimizer = SgdConfig::new().with_weight_decay(Some(decay)).init();
    let (mut losses, mut have) = (Vec::new(), 0);
    for _ in 0..STEPS {
        // --8<-- [part:backward]
        let loss = mse(model.forward(x.clone()), t.clone());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        have = gradients.len();
        // --8<-- [part:step]
        model = optimizer.step(LR, model, gradients);
        losses.push(loss.into_scalar::<f32>());
    }
    // --8<-- [part:look]
    println!("{have} of 6 have a gradient");
    println!("loss {:.4} -> {:.4}", losses[0], losses[STEPS - 1]);
    // --8<-- [end:freeze]
    record("freeze.losses", losses.as_slice());
    record("freeze.counts", [have as i64, 6]);
    record("freeze.head", weight(&model.head));
    record("freeze.body", weight(&model.body.fc1));
    record("task.body", weight(&build(WIDTH, device).body.fc1));

    let whole = build(WIDTH, device);
    let mut part = whole.clone();
    part.body = part.body.no_grad();
    let gradient = |model: &Net, layer: &Linear| {
        let loss = mse(model.forward(x.clone()), t.clone());
        let gradient = layer.weight.val().grad(&loss.backward()).unwrap();
        gradient.transpose().into_data()
    };
    record("freeze.gradient.whole", gradient(&whole, &whole.head));
    record("freeze.gradient.part", gradient(&part, &part.head));
    record("freeze.gradient.body", gradient(&whole, &whole.body.fc1));
}

// --8<-- [start:held]
/// The shape of one activation of the big network.
const BIG: [usize; 2] = [128, 512];

/// The system's allocator; it counts the blocks of BIG's size.
struct Counting;
static BLOCKS: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

fn count(layout: Layout, sign: i64) {
    let big = layout.size() == BIG[0] * BIG[1] * size_of::<f32>();
    BLOCKS.fetch_add(sign * i64::from(big), Relaxed);
    BYTES.fetch_add(sign * layout.size() as i64, Relaxed);
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout, 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout, -1);
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many activations are alive.
fn held() -> i64 {
    BLOCKS.load(Relaxed)
}
// --8<-- [end:held]

fn big_loss(model: &Net, device: &Device) -> Tensor<1> {
    let x = wave(0.3, 1.0, [BIG[0], FEATURES], device);
    let t = wave(0.5, 1.0, [BIG[0], 1], device);
    mse(model.forward(x), t)
}

fn graph(device: &Device) {
    section("graph");
    let (mut counts, mut after) = (Vec::new(), Vec::new());
    let mut show = |state: &str, model: &Net| {
        // --8<-- [start:measure]
        let loss = big_loss(model, device);
        let before = held();
        if loss.is_tracked() {
            loss.backward();
        }
        // --8<-- [end:measure]
        println!("{state:16} {before}, after backward {}", held());
        counts.push(before);
        after.push(held());
    };
    // --8<-- [start:graph]
    let mut model = build(BIG[1], device);
    show("all trained", &model);
    // --8<-- [part:head]
    model.head = model.head.no_grad();
    show("head frozen", &model);
    model.head = model.head.set_require_grad(true);
    // --8<-- [part:body]
    model.body = model.body.no_grad();
    show("body frozen", &model);
    model.body = model.body.set_require_grad(true);
    // --8<-- [part:off]
    show("valid()", &model.valid());
    // --8<-- [end:graph]
    record("graph.held", counts.as_slice());
    record("graph.after", after.as_slice());
    note("graph.bytes", [(BIG[0] * BIG[1] * size_of::<f32>()) as i64]);
}

fn kept_by_relu(device: &Device) {
    section("relu");
    // --8<-- [start:relu]
    let x = wave(0.3, 1.0, BIG, device).require_grad();
    let before = held();
    // --8<-- [part:relu]
    let y = relu(x.clone() * 2.0);
    // --8<-- [part:look]
    println!("alive beside x: {}", held() - before);
    // --8<-- [end:relu]
    record("relu.alive", [held() - before]);
    y.backward();
}

fn evaluation(device: &Device) {
    section("evaluation");
    let model = build(BIG[1], device);
    let watch = |name: &str,
                 way: &str,
                 add: &dyn Fn(Tensor<1>) -> Tensor<1>| {
        let mut total = Tensor::zeros([1], device);
        let mut counts = Vec::new();
        for _ in 0..4 {
            total = add(total);
            counts.push(held());
        }
        let line: String = counts.iter().map(|n| format!(" {n:3}")).collect();
        println!("{way:22}{line}");
        record(&format!("evaluation.{name}"), counts.as_slice());
        drop(total);
        note(&format!("evaluation.{name}.dropped"), [held()]);
        big_loss(&model, device).backward();
        note(&format!("evaluation.{name}.swept"), [held()]);
    };
    // --8<-- [start:evaluation]
    watch("total", "total + loss", &|total| total + big_loss(&model, device));
    // --8<-- [part:detach]
    watch("detach", "total + loss.detach()", &|total| {
        total + big_loss(&model, device).detach()
    });
    // --8<-- [part:item]
    watch("item", "total + loss as f32", &|total| {
        total + big_loss(&model, device).into_scalar::<f32>()
    });
    // --8<-- [part:off]
    let (snapshot, plain) = (model.valid(), device.clone().inner());
    watch("off", "with valid()", &|total| total + big_loss(&snapshot, &plain));
    // --8<-- [end:evaluation]

    // --8<-- [start:training]
    watch("training", "with backward", &|total| {
        let loss = big_loss(&model, device);
        loss.backward();
        total + loss
    });
    // --8<-- [end:training]
}

fn distil(device: &Device) {
    section("distil");
    let x = &wave(0.3, 1.0, [BIG[0], FEATURES], device);
    // --8<-- [start:distil]
    let distil = |name: &str, teacher: &Net| {
        let student = build(WIDTH, device);
        let mut counts = Vec::new();
        for _ in 0..4 {
            // --8<-- [part:goal]
            let goal = teacher.forward(x.clone()).detach();
            // --8<-- [part:loss]
            mse(student.forward(x.clone()), goal).backward();
            // --8<-- [part:held]
            counts.push(held());
        }
        println!("{name:16} {counts:?}");
        counts
    };
    // --8<-- [part:call]
    let teacher = build(BIG[1], device);
    let off = distil("valid()", &teacher.valid());
    let tracked = distil("as it is", &teacher);
    big_loss(&teacher, device).backward();
    let trained = distil("trained once", &teacher);
    // --8<-- [end:distil]
    record("teacher.tracked", tracked.as_slice());
    note("teacher.valid", off.as_slice());
    note("teacher.trained", trained.as_slice());
}

const PASSES: usize = 1000;

fn growth(x: &Tensor<2>, t: &Tensor<2>, device: &Device) {
    section("growth");
    let grown = |name: &str, state: &str, model: &Net, x: Tensor<2>| {
        let start = BYTES.load(Relaxed);
        for _ in 0..PASSES {
            model.forward(x.clone());
        }
        let bytes = BYTES.load(Relaxed) - start;
        println!("{state:24} {bytes:9} bytes");
        note(&format!("growth.{name}"), [bytes]);
    };
    let model = build(WIDTH, device);
    mse(model.forward(x.clone()), t.clone()).backward();
    let start = BYTES.load(Relaxed);
    // --8<-- [start:growth]
    let plain = x.clone().inner();
    grown("both", "valid(), input.inner()", &model.valid(), plain.clone());
    grown("valid", "valid()", &model.valid(), x.clone());
    grown("no_grad", "no_grad()", &model.clone().no_grad(), x.clone());
    grown("model", "the model itself", &model, x.clone());
    grown("input", "the same, input.inner()", &model, plain);
    mse(model.forward(x.clone()), t.clone()).backward();
    // --8<-- [end:growth]
    let left = BYTES.load(Relaxed) - start;
    println!("{:24} {left:9} bytes", "left after a backward");
    note("growth.left", [left]);

    let one = |name: &str, x: Tensor<2>| {
        let start = BYTES.load(Relaxed);
        for _ in 0..PASSES {
            let _ = x.clone() * 2.0;
        }
        note(&format!("growth.{name}"), [BYTES.load(Relaxed) - start]);
    };
    one("untracked", x.clone());
    one("tracked", x.clone().require_grad());
    mse(model.forward(x.clone()), t.clone()).backward();
    note("growth.passes", [PASSES as i64]);
}

const GAMMA: f64 = 0.9;
const DECAY: f64 = 0.9;

fn target(x: &Tensor<2>, t: &Tensor<2>, device: &Device) {
    section("target");
    let (x, t) = (x.clone(), t.clone());
    let gradient = |loss: Tensor<1>, model: &Net| {
        model.head.weight.val().grad(&loss.backward()).unwrap().transpose()
    };
    // --8<-- [start:target]
    let online = build(WIDTH, device);
    // --8<-- [part:snapshot]
    let snapshot = online.valid();
    // --8<-- [part:goal]
    let goal = t.clone() + snapshot.forward(x.clone().flip([0])) * GAMMA;
    let loss = mse(online.forward(x.clone()), goal);
    let right = gradient(loss, &online);
    // --8<-- [part:forgotten]
    let goal = t + online.forward(x.clone().flip([0])) * GAMMA;
    let loss = mse(online.forward(x), goal);
    let forgotten = gradient(loss, &online);
    // --8<-- [part:look]
    let first = |g: &Tensor<2>| g.to_data().iter::<f32>().next().unwrap();
    println!("first entry {:.6}", first(&right));
    println!("forgotten   {:.6}", first(&forgotten));
    // --8<-- [end:target]
    record("target.right", right.into_data());
    record("target.forgotten", forgotten.into_data());
}

fn average(x: &Tensor<2>, t: &Tensor<2>, device: &Device) {
    section("average");
    // --8<-- [start:average]
    let mut model = build(WIDTH, device);
    let mut optimizer = SgdConfig::new().init();
    // --8<-- [part:start]
    let mut mean = model.head.weight.val().inner();
    let mut chain = model.head.weight.val();
    for _ in 0..STEPS {
        // --8<-- [part:step]
        let loss = mse(model.forward(x.clone()), t.clone());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(LR, model, gradients);
        // --8<-- [part:mean]
        let weight = model.head.weight.val();
        mean = mean * DECAY + weight.clone().inner() * (1.0 - DECAY);
        // --8<-- [part:chain]
        chain = chain * DECAY + weight * (1.0 - DECAY);
    }
    // --8<-- [part:look]
    println!("mean tracked: {}", mean.is_tracked());
    println!("chain tracked: {}", chain.is_tracked());
    // --8<-- [end:average]
    let (mean, chain) = (mean.into_data(), chain.into_data());
    note("average.same", [mean == chain]);
    note("average.followed", [follows(x, t, device)]);
    record(
        "average.mean",
        Tensor::<2>::from_data(mean, device).transpose().into_data(),
    );
}

/// Whether a weight taken out changes with the parameter.
fn follows(x: &Tensor<2>, t: &Tensor<2>, device: &Device) -> bool {
    let model = build(WIDTH, device);
    let start = model.head.weight.val();
    let gradients = mse(model.forward(x.clone()), t.clone()).backward();
    let gradients = GradientsParams::from_grads(gradients, &model);
    let model = SgdConfig::new().init().step(LR, model, gradients);
    start.into_data() == model.head.weight.val().into_data()
}

fn moved(before: Tensor<2>, layer: &Linear) -> f32 {
    (layer.weight.val().inner() - before.inner()).abs().max().into_scalar()
}

fn late(device: &Device) {
    section("late");
    let (x, t) = task(device);
    let loss_of = |model: &Net| mse(model.forward(x.clone()), t.clone());
    // --8<-- [start:late]
    let mut model = build(WIDTH, device);
    let mut optimizer = SgdConfig::new().init();
    // --8<-- [part:backward]
    let gradients = loss_of(&model).backward();
    // --8<-- [part:freeze]
    model.body = model.body.no_grad();
    let before = model.body.fc1.weight.val();
    // --8<-- [part:step]
    let gradients = GradientsParams::from_grads(gradients, &model);
    let model = optimizer.step(LR, model, gradients);
    // --8<-- [part:look]
    let moved_by = moved(before.clone(), &model.body.fc1);
    println!("the frozen layer moved by {moved_by:.6}");
    // --8<-- [end:late]
    note("late.moved", [moved_by]);

    section("later");
    // --8<-- [start:later]
    let mut model = build(WIDTH, device);
    let gradients = loss_of(&model).backward();
    let gradients = GradientsParams::from_grads(gradients, &model);
    model.body = model.body.no_grad();
    let model = optimizer.step(LR, model, gradients);
    let moved_by = moved(before, &model.body.fc1);
    println!("the frozen layer moved by {moved_by:.6}");
    // --8<-- [end:later]
    note("later.moved", [moved_by]);
}

fn leaf(device: &Device) {
    section("leaf");
    let (x, _) = task(device);
    // --8<-- [start:leaf]
    let model = build(WIDTH, device);
    let features = model.body.valid().forward(x.inner());
    let _ = features.require_grad();
    // --8<-- [end:leaf]
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            let (x, t) = task(&device);
            record("task.x", x.to_data());
            record("task.t", t.to_data());
            switches(&x, &device);
            mixed(&x, &t, &device);
            through(&x, &t, &device);
            freeze(&x, &t, &device);
            graph(&device);
            kept_by_relu(&device);
            evaluation(&device);
            growth(&x, &t, &device);
            target(&x, &t, &device);
            average(&x, &t, &device);
            distil(&device);
        }
        Some("late") => late(&device),
        Some("leaf") => leaf(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
