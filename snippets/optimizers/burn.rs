//! Groups, clipping, schedules, accumulation, and an optimizer of one's own.

use std::fs;
use std::ops::Range;

use burn::data::dataloader::DataLoaderBuilder;
use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::grad_clipping::{GradientClipping, GradientClippingConfig};
use burn::lr_scheduler::composed::ComposedLrSchedulerConfig;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::exponential::ExponentialLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::lr_scheduler::noam::NoamLrSchedulerConfig;
use burn::lr_scheduler::sequential::SequentialLrSchedulerConfig;
use burn::lr_scheduler::step::StepLrSchedulerConfig;
use burn::module::{ModuleVisitor, Param, ParamGroup};
use burn::nn::Linear;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{
    AdamConfig, GradientsAccumulator, GradientsParams, LearningRate,
    ModuleOptimizer, Optimizer, RecordState, SgdConfig, StateSink, StateSource,
};
use burn::prelude::*;
use burn::tensor::activation::tanh;
use burn::train::metric::LearningRateMetric;
use burn::train::{
    InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep,
};
use lesson::{note, record, section};

// --8<-- [start:wave]
fn wave<const D: usize>(
    shape: [usize; D],
    pace: f64,
    device: &Device,
) -> Tensor<D> {
    let n: usize = shape.iter().product();
    let values = (1..=n).map(|k| (pace * k as f64).sin() as f32).collect();
    Tensor::from_data(TensorData::new::<f32, _>(values, shape), device)
}
// --8<-- [end:wave]

// --8<-- [start:net]
// --8<-- [part:layers]
#[derive(Module, Debug)]
struct Net {
    body: Linear,
    head: Linear,
}

impl Net {
    fn new(device: &Device) -> Self {
        let linear = |d_in, d_out, k: f64| Linear {
            weight: Param::from_tensor(
                wave([d_out, d_in], k, device).transpose(),
            ),
            bias: Some(Param::from_tensor(wave([d_out], k + 1.0, device))),
        };
        Self { body: linear(3, 4, 1.0), head: linear(4, 2, 3.0) }
    }

    // --8<-- [part:loss]
    fn loss(&self, samples: Range<usize>) -> Tensor<1> {
        let device = &self.head.weight.device();
        let x = wave([10, 3], 0.7, device).slice([samples.clone()]);
        let y = wave([10, 2], 0.3, device).slice([samples]);
        let y_hat = self.head.forward(tanh(self.body.forward(x)));
        (y_hat - y).square().mean()
    }
}
// --8<-- [end:net]

const ALL: Range<usize> = 0..10;

impl Net {
    fn gradients(&self, samples: Range<usize>) -> GradientsParams {
        GradientsParams::from_grads(self.loss(samples).backward(), self)
    }

    /// All parameters, in PyTorch's order and layout.
    fn flat(&self) -> TensorData {
        let layers = [&self.body, &self.head];
        let parts = layers.into_iter().flat_map(|layer| {
            let weight = layer.weight.val().transpose().flatten::<1>(0, 1);
            [weight, layer.bias.as_ref().unwrap().val()]
        });
        Tensor::cat(parts.collect(), 0).into_data()
    }
}

fn keep(name: &str, model: &Net) {
    record(name, model.flat());
}

// --8<-- [start:two]
#[derive(Module, Debug)]
struct Two {
    first: Param<Tensor<1>>,
    second: Param<Tensor<1>>,
}

impl Two {
    fn new(device: &Device) -> Self {
        let zero = || Param::from_tensor(Tensor::zeros([1], device));
        Self { first: zero(), second: zero() }
    }

    fn loss(&self) -> Tensor<1> {
        self.first.val() * 3.0 + self.second.val() * 4.0
    }
}
// --8<-- [end:two]

impl Two {
    fn gradients(&self) -> GradientsParams {
        GradientsParams::from_grads(self.loss().backward(), self)
    }

    fn values(&self) -> [f32; 2] {
        [&self.first, &self.second].map(|p| p.val().into_scalar())
    }
}

// --8<-- [start:walk]
#[derive(Default)]
struct Print {
    path: Vec<String>,
}

impl ModuleVisitor for Print {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    // --8<-- [part:print]
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let count = param.shape().num_elements();
        println!("{} {count}", self.path.join("."));
    }
}
// --8<-- [part:walk]
fn walk(device: &Device) {
    Net::new(device).visit(&mut Print::default());
}
// --8<-- [end:walk]

fn missing(device: &Device) {
    section("missing");
    // --8<-- [start:missing]
    for kind in ["missing", "zero"] {
        // --8<-- [part:optimizer]
        let model = Net::new(device);
        let decay = WeightDecayConfig::new(0.5);
        let mut optimizer =
            SgdConfig::new().with_weight_decay(Some(decay)).init();
        // --8<-- [part:take]
        let mut gradients = model.gradients(ALL);
        let weight = model.head.weight.clone();
        let taken = gradients.remove::<2>(weight.id).unwrap();
        if kind == "zero" {
            // --8<-- [part:zero]
            gradients.register(weight.id, taken.zeros_like());
        }
        // --8<-- [part:step]
        let model = optimizer.step(0.1, model, gradients);
        // --8<-- [part:print]
        let change = model.head.weight.val() - weight.val();
        let moved = change.abs().max().into_scalar::<f32>() > 0.0;
        println!("{kind}: head.weight moved: {moved}");
        // --8<-- [part:]
        keep(&format!("missing.{kind}"), &model);
    }
    // --8<-- [end:missing]
}

fn taking(device: &Device) {
    section("taking");
    // --8<-- [start:taking]
    let model = Net::new(device);
    let mut all = model.loss(ALL).backward();
    let bias = model.head.bias.as_ref().unwrap().id;
    let one = GradientsParams::from_params(&mut all, &model, &[bias]);
    let head = GradientsParams::from_module(&mut all, &model.head);
    let rest = GradientsParams::from_grads(all, &model);
    println!("{} + {} + {}", one.len(), head.len(), rest.len());

    let mut all = model.loss(ALL).backward();
    let everything = GradientsParams::from_module(&mut all, &model);
    let head = GradientsParams::from_module(&mut all, &model.head);
    println!("{} + {}", everything.len(), head.len());
    let mut optimizer = SgdConfig::new().init();
    let after = optimizer.step(0.1, model.clone(), head);
    println!("moved: {}", after.flat() != model.flat());
    // --8<-- [end:taking]
    note("taking", after.flat());
}

fn halves(device: &Device) {
    // --8<-- [start:halves]
    let mut model = Net::new(device);
    // --8<-- [part:two]
    let mut for_body = SgdConfig::new().init();
    let mut for_head = SgdConfig::new().init();
    for _ in 0..3 {
        // --8<-- [part:gradients]
        let mut all = model.loss(ALL).backward();
        let body = GradientsParams::from_module(&mut all, &model.body);
        let head = GradientsParams::from_module(&mut all, &model.head);
        // --8<-- [part:step]
        model = Net {
            body: for_body.step(0.01, model.body, body),
            head: for_head.step(0.1, model.head, head),
        };
    }
    // --8<-- [end:halves]
    keep("halves", &model);

    let mut model = Net::new(device);
    let mut rates = ModuleLrScheduler::new(0.1)
        .with_group(ParamGroup::from_predicate("body."), 0.01);
    let mut optimizer = SgdConfig::new().init();
    for _ in 0..3 {
        let gradients = model.gradients(ALL);
        model = optimizer.step(rates.step(), model, gradients);
    }
    note("rates-only", model.flat());
}

fn groups(device: &Device) {
    // --8<-- [start:groups]
    let mut model = Net::new(device);
    // --8<-- [part:decay]
    let decay = WeightDecayConfig::new(0.5);
    let biases = ParamGroup::from_regex(r"\.bias$").unwrap();
    // --8<-- [part:rates]
    let body = ParamGroup::from_predicate("body.");
    let mut rates = ModuleLrScheduler::new(0.1).with_group(body, 0.01);
    // --8<-- [part:optimizer]
    let mut optimizer = SgdConfig::new()
        .with_weight_decay(Some(decay))
        .init()
        .with_group(biases, SgdConfig::new().build(), None);
    // --8<-- [part:step]
    for _ in 0..3 {
        let gradients = model.gradients(ALL);
        model = optimizer.step(rates.step(), model, gradients);
    }
    // --8<-- [end:groups]
    keep("groups", &model);
}

fn overlap(device: &Device) {
    section("overlap");
    // --8<-- [start:overlap]
    let model = Net::new(device);
    let named = |pattern| ParamGroup::from_predicate(pattern);
    let bias = model.head.bias.as_ref().unwrap().id;
    let rate = |schedule: &mut ModuleLrScheduler| {
        schedule.step().lr_from_param(bias, Some("head.bias"))
    };
    // --8<-- [part:twice]
    let schedule = ModuleLrScheduler::new(0.1);
    let mut schedule = schedule
        .with_group(named("head"), 0.01)
        .with_group(named("bias"), 0.001);
    println!("head.bias: {}", rate(&mut schedule));
    // --8<-- [part:typo]
    let schedule = ModuleLrScheduler::new(0.1);
    let mut schedule = schedule.with_group(named("haed"), 0.01);
    println!("haed: {}", rate(&mut schedule));
    // --8<-- [end:overlap]
}

fn patterns(device: &Device) {
    section("patterns");
    // --8<-- [start:patterns]
    let id = Net::new(device).head.weight.id;
    let yes = |group: &ParamGroup, path| group.matches(&id, Some(path));
    let block = ParamGroup::from_predicate("blocks.1");
    println!("blocks.1.weight  {}", yes(&block, "blocks.1.weight"));
    println!("blocks.10.weight {}", yes(&block, "blocks.10.weight"));
    let exact = ParamGroup::from_path("head");
    println!("exactly head     {}", yes(&exact, "head.weight"));

    let bias = ParamGroup::from_predicate("bias");
    let weights = ParamGroup::from_predicate("blocks").exclude(bias);
    println!("without biases   {}", yes(&weights, "blocks.1.bias"));
    let fused = weights.fuse(&ParamGroup::from_predicate("head"));
    println!("then fused       {}", yes(&fused, "blocks.1.bias"));
    // --8<-- [end:patterns]
    let found = [
        yes(&block, "blocks.10.weight"),
        yes(&exact, "head.weight"),
        yes(&fused, "blocks.1.bias"),
    ];
    note("patterns", found.map(i64::from));
}

fn alone(device: &Device) {
    section("alone");
    // --8<-- [start:alone]
    let model = Net::new(device);
    let named = ParamGroup::from_predicate("head.");
    let listed = ParamGroup::ids_from_module(model.head.clone());
    for (name, group) in [("by name", named), ("by id", listed)] {
        let mut rates = ModuleLrScheduler::new(0.0).with_group(group, 0.1);
        let gradients = model.gradients(ALL);
        let head = SgdConfig::new().init().step(
            rates.step(),
            model.head.clone(),
            gradients,
        );
        let change = head.weight.val() - model.head.weight.val();
        let moved = change.abs().max().into_scalar::<f32>();
        println!("{name}: moved {}", moved > 0.0);
        note(&format!("alone.{name}"), [moved]);
    }
    // --8<-- [end:alone]
}

fn clipping(device: &Device) {
    // --8<-- [start:clipping]
    let model = Two::new(device);
    // --8<-- [part:clip]
    let clip = GradientClippingConfig::Norm(1.0);
    let mut optimizer =
        SgdConfig::new().with_gradient_clipping(Some(clip)).init();
    // --8<-- [part:step]
    let gradients = model.gradients();
    let model = optimizer.step(1.0, model, gradients);
    // --8<-- [end:clipping]
    record("clipping.configured", model.values());
    record("clipping.each", model.values());

    let model = Two::new(device);
    let (gradients, _) = clip_global(&model, model.gradients(), 1.0);
    let model = SgdConfig::new().init().step(1.0, model, gradients);
    record("clipping.global", model.values());
}

// --8<-- [start:clip-global]
/// Adds up the squares of all gradients.
struct Squares<'a>(&'a GradientsParams, f32);

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.0.get::<D>(param.id) {
            self.1 += gradient.square().sum().into_scalar::<f32>();
        }
    }
}

/// Multiplies all gradients by a number.
struct Scale<'a>(&'a mut GradientsParams, f32);

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.0.remove::<D>(param.id) {
            self.0.register(param.id, gradient * self.1);
        }
    }
}
// --8<-- [end:clip-global]

// --8<-- [start:clip-global-use]
fn clip_global<M: Module>(
    model: &M,
    mut gradients: GradientsParams,
    max_norm: f32,
) -> (GradientsParams, f32) {
    let mut squares = Squares(&gradients, 0.0);
    model.visit(&mut squares);
    let norm = squares.1.sqrt();
    let factor = (max_norm / (norm + 1e-6)).min(1.0);
    model.visit(&mut Scale(&mut gradients, factor));
    (gradients, norm)
}
// --8<-- [end:clip-global-use]

fn global_norm(device: &Device) {
    section("global-norm");
    // --8<-- [start:global-norm]
    let model = Net::new(device);
    let mut optimizer = SgdConfig::new().init();
    let gradients = model.gradients(ALL);
    // --8<-- [part:clip]
    let (gradients, norm) = clip_global(&model, gradients, 0.25);
    // --8<-- [part:step]
    let model = optimizer.step(1.0, model, gradients);
    println!("norm {norm:.4}");
    // --8<-- [end:global-norm]
    record("global-norm.norm", [norm]);
    keep("global-norm", &model);
}

fn late(device: &Device) {
    section("late");
    // --8<-- [start:late]
    let clip = || GradientClipping::Value(0.5);
    let plain = || SgdConfig::new().init();
    let model = Two::new(device);
    // always from the same start; the gradient of `second` is 4
    let step = |when: &str, optimizer: &mut ModuleOptimizer| {
        let after = optimizer.step(1.0, model.clone(), model.gradients());
        println!("{when}: {}", after.values()[1]);
        after.values()[1]
    };
    let mut stepped = plain();
    step("without clipping", &mut stepped);
    let config = SgdConfig::new()
        .with_gradient_clipping(Some(GradientClippingConfig::Value(0.5)));
    let group = plain().with_group(ParamGroup::all(), config.build(), None);
    let load = |new: ModuleOptimizer| new.load_record(stepped.to_record());
    let early = plain().with_grad_clipping(clip());
    let moves = [
        ("before the first step", early.clone()),
        ("after the first step", stepped.clone().with_grad_clipping(clip())),
        ("before loading", load(early)),
        ("after loading", load(plain()).with_grad_clipping(clip())),
        ("in a group's config", group),
    ]
    .map(|(when, mut optimizer)| step(when, &mut optimizer));
    // --8<-- [end:late]
    note("late", moves);
}

// --8<-- [start:rates]
fn rates(name: &str, mut scheduler: ModuleLrScheduler) {
    let mut used = Vec::new();
    for _ in 0..7 {
        // --8<-- [part:step]
        let rate = scheduler.step();
        // here follows optimizer.step(rate, model, gradients)
        // --8<-- [part:]
        used.push(rate.base());
    }
    record(&format!("rates.{name}"), used.as_slice());
}
// --8<-- [end:rates]

// --8<-- [start:schedules]
fn schedules() -> Result<(), String> {
    // --8<-- [part:one-line]
    rates("linear", LinearLrSchedulerConfig::new(0.125, 0.5, 3).init()?);
    rates("exponential", ExponentialLrSchedulerConfig::new(0.5, 0.9).init()?);
    rates("step", StepLrSchedulerConfig::new(0.5, 2).init()?);
    rates("cosine", CosineAnnealingLrSchedulerConfig::new(0.5, 4).init()?);
    // --8<-- [part:noam]
    let noam = NoamLrSchedulerConfig::new(0.5)
        .with_model_size(16)
        .with_warmup_steps(3);
    rates("noam", noam.init()?);
    // --8<-- [part:product]
    let product = ComposedLrSchedulerConfig::new()
        .linear(LinearLrSchedulerConfig::new(0.25, 1.0, 3))
        .exponential(ExponentialLrSchedulerConfig::new(0.5, 0.9));
    rates("product", product.init()?);
    // --8<-- [part:sequence]
    let parts = vec![
        LinearLrSchedulerConfig::new(0.125, 0.5, 3).into(),
        CosineAnnealingLrSchedulerConfig::new(0.5, 4).into(),
    ];
    let sequence = SequentialLrSchedulerConfig::new(parts, vec![3]);
    rates("sequence", sequence.init()?);
    // --8<-- [part:constant]
    rates("constant", ModuleLrScheduler::new(0.5));
    Ok(())
}
// --8<-- [end:schedules]

fn order() {
    section("order");
    // --8<-- [start:order]
    let mut scheduler =
        ExponentialLrSchedulerConfig::new(0.5, 0.5).init().unwrap();
    let mut rate = 0.5;
    let mut used = Vec::new();
    for _ in 0..4 {
        // --8<-- [part:step]
        // here follows optimizer.step(rate, model, gradients)
        used.push(rate);
        rate = scheduler.step().base();
    }
    // --8<-- [part:]
    println!("{used:?}");
    // --8<-- [end:order]
    record("order", used.as_slice());
}

fn high() {
    section("high");
    // --8<-- [start:high]
    // --8<-- [part:try]
    for (name, built) in [
        ("Cosine", CosineAnnealingLrSchedulerConfig::new(2.0, 4).init()),
        ("Linear", LinearLrSchedulerConfig::new(0.5, 2.0, 3).init()),
        ("Exponential", ExponentialLrSchedulerConfig::new(2.0, 0.9).init()),
        ("Step", StepLrSchedulerConfig::new(2.0, 2).init()),
    ] {
        match built {
            Ok(mut scheduler) => {
                println!("{name} begins with {}", scheduler.step().base())
            }
            Err(message) => println!("{name}: {message}"),
        }
    }
    // --8<-- [part:product]
    let twice = ComposedLrSchedulerConfig::new()
        .constant(2.0)
        .cosine(CosineAnnealingLrSchedulerConfig::new(1.0, 4));
    rates("high", twice.init().unwrap());
    // --8<-- [end:high]
}

// --8<-- [start:accumulated]
fn accumulated(parts: &[Range<usize>], divide: f32, device: &Device) -> Net {
    let model = Net::new(device);
    let mut optimizer = SgdConfig::new().init();
    let mut accumulator = GradientsAccumulator::new();
    for part in parts {
        let loss = model.loss(part.clone()) / divide;
        // --8<-- [part:add]
        let gradients = loss.backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        accumulator.accumulate(&model, gradients);
    }
    // --8<-- [part:step]
    optimizer.step(0.1, model, accumulator.grads())
}

// --8<-- [part:calls]
fn accumulate(device: &Device) {
    let halves = [0..5, 5..10];
    keep("accumulate.whole", &accumulated(&[ALL], 1.0, device));
    keep("accumulate.sum", &accumulated(&halves, 1.0, device));
    keep("accumulate.mean", &accumulated(&halves, 2.0, device));
}
// --8<-- [end:accumulated]

/// A batch is a range of samples.
#[derive(Clone)]
struct Ranges;

impl Batcher<usize, Range<usize>> for Ranges {
    fn batch(&self, items: Vec<usize>, _device: &Device) -> Range<usize> {
        items[0]..items[0] + items.len()
    }
}

impl TrainStep for Net {
    type Input = Range<usize>;
    type Output = ();

    fn step(&self, samples: Range<usize>) -> TrainOutput<()> {
        let loss = self.loss(samples);
        TrainOutput::new(self, loss.backward(), ())
    }
}

impl InferenceStep for Net {
    type Input = Range<usize>;
    type Output = ();

    fn step(&self, _samples: Range<usize>) {}
}

fn learner(device: &Device) {
    let loader = |device: Device| {
        DataLoaderBuilder::new(Ranges)
            .batch_size(2)
            .set_device(device)
            .build(InMemDataset::new(ALL.collect::<Vec<usize>>()))
    };
    let (train, valid) =
        (loader(device.clone()), loader(device.clone().inner()));
    let model = Net::new(device);
    // --8<-- [start:learner]
    let halving = ExponentialLrSchedulerConfig::new(0.1, 0.5).init().unwrap();
    let learner = Learner::new(model, SgdConfig::new().init(), halving);
    let result = SupervisedTraining::new("run", train, valid)
        .metric_train_numeric(LearningRateMetric::new())
        .num_epochs(1)
        // --8<-- [part:every]
        .grads_accumulation(2)
        // --8<-- [part:]
        .launch(learner);
    // --8<-- [end:learner]
    keep("learner", &result.model);
    let log = fs::read_to_string("run/train/epoch-1/Learning_Rate.log");
    let rates = log.unwrap();
    let rates = rates.lines().map(|line| line.split_once(',').unwrap().0);
    let rates: Vec<f64> = rates.map(|rate| rate.parse().unwrap()).collect();
    note("logged", &rates[..5]);
}

// --8<-- [start:own]
// --8<-- [part:settings]
#[derive(Clone)]
struct Signum {
    beta: f32,
}

// --8<-- [part:state]
#[derive(RecordState, Clone)]
struct SignumState<const D: usize> {
    mean: Tensor<D>,
}

// --8<-- [part:step]
impl Optimizer for Signum {
    type State<const D: usize> = SignumState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<SignumState<D>>,
    ) -> (Tensor<D>, Option<SignumState<D>>) {
        // --8<-- [part:formula]
        let mean = match state {
            Some(state) => state.mean,
            None => gradient.zeros_like(),
        };
        let mean = mean * self.beta + gradient * (1.0 - self.beta);
        let tensor = tensor - mean.clone().sign() * lr;
        (tensor, Some(SignumState { mean }))
    }

    // --8<-- [part:]
    fn to_device<const D: usize>(
        state: SignumState<D>,
        device: &Device,
    ) -> SignumState<D> {
        SignumState { mean: state.mean.to_device(device) }
    }
}
// --8<-- [end:own]

// --8<-- [start:own-run]
fn signed(steps: usize, stop: Option<usize>, device: &Device) -> Net {
    let signum = || ModuleOptimizer::from(Signum { beta: 0.75 });
    let mut model = Net::new(device);
    let mut optimizer = signum();
    for k in 0..steps {
        if Some(k) == stop {
            // --8<-- [part:save]
            let saved = optimizer.into_bytes().unwrap();
            optimizer = signum().from_bytes(saved).unwrap();
        }
        // --8<-- [part:step]
        let gradients = model.gradients(ALL);
        model = optimizer.step(0.01, model, gradients);
    }
    model
}
// --8<-- [end:own-run]

fn foreign(device: &Device) {
    section("foreign");
    // --8<-- [start:foreign]
    let model = Net::new(device);
    // --8<-- [part:save]
    let mut signum = ModuleOptimizer::from(Signum { beta: 0.75 });
    signum.step(0.01, model.clone(), model.gradients(ALL));
    let saved = signum.to_record();
    println!("{} tensors", saved.len());
    // --8<-- [part:load]
    let mut adam = AdamConfig::new().init().load_record(saved);
    println!("{} tensors", adam.to_record().len());
    adam.step(0.01, model.clone(), model.gradients(ALL));
    println!("{} tensors", adam.to_record().len());
    // --8<-- [end:foreign]
}

fn own(device: &Device) {
    keep("own.straight", &signed(20, None, device));
    keep("own.resumed", &signed(20, Some(10), device));
}

/// A group added after a step, and a frozen half: what the questions ask.
fn asked(device: &Device) {
    let model = Net::new(device);
    let mut adam = AdamConfig::new().init();
    let model = adam.step(0.1, model.clone(), model.gradients(ALL));
    let before = adam.to_record().len();
    let head = ParamGroup::from_predicate("head.");
    let adam = adam.with_group(head, SgdConfig::new().build(), None);
    note("regrouped", [before, adam.to_record().len()]);

    let frozen = Net { body: model.body.no_grad(), head: model.head };
    note("frozen", [frozen.gradients(ALL).len()]);
}

fn tied(device: &Device) {
    section("tied");
    // --8<-- [start:tied]
    let model = Two::new(device);
    // --8<-- [part:tie]
    let mut model = Two { second: model.first.clone(), ..model };
    // --8<-- [part:loop]
    let mut optimizer = SgdConfig::new().init();
    for _ in 0..2 {
        let gradients = model.gradients();
        model = optimizer.step(0.25, model, gradients);
        // --8<-- [part:print]
        let [first, second] = model.values();
        println!("{first:?} {second:?}");
    }
    // --8<-- [end:tied]
    note("tied", model.values());
}

// --8<-- [start:once]
#[derive(Module, Debug)]
struct Once {
    weight: Param<Tensor<1>>,
}

impl Once {
    fn loss(&self) -> Tensor<1> {
        self.weight.val() * 3.0 + self.weight.val() * 4.0
    }
}
// --8<-- [end:once]

fn once(device: &Device) {
    let weight = Param::from_tensor(Tensor::zeros([1], device));
    let mut model = Once { weight };
    let mut optimizer = SgdConfig::new().init();
    for _ in 0..2 {
        let gradients = model.loss().backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        model = optimizer.step(0.25, model, gradients);
    }
    record("once", model.weight.val().into_data());
}

fn main() {
    let device = &Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            // prints its progress, so before the first section
            learner(device);
            section("walk");
            walk(device);
            keep("start", &Net::new(device));
            missing(device);
            taking(device);
            halves(device);
            groups(device);
            overlap(device);
            patterns(device);
            alone(device);
            clipping(device);
            global_norm(device);
            late(device);
            schedules().unwrap();
            order();
            high();
            accumulate(device);
            own(device);
            foreign(device);
            asked(device);
        }
        Some("tied") => {
            tied(device);
            once(device);
        }
        Some(other) => panic!("no run named {other}"),
    }
}
