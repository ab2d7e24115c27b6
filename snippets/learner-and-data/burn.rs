//! Stop early, keep the right checkpoints, resume: by burn's Learner.

use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{
    DataLoader, DataLoaderBuilder, DataLoaderIterator, Progress,
};
use burn::data::dataset::InMemDataset;
use burn::module::Param;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::lr_scheduler::LrSchedulerRecord;
use burn::optim::lr_scheduler::exponential::ExponentialLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::prelude::*;
use burn::tensor::TensorReadError;
use burn::tensor::activation::relu;
use burn::train::checkpoint::{
    ComposedCheckpointingStrategy, KeepLastNCheckpoints,
    MetricCheckpointingStrategy,
};
use burn::train::metric::state::{FormatOptions, NumericMetricState};
use burn::train::metric::store::{
    Aggregate, Direction, EventStoreClient, Split,
};
use burn::train::metric::{
    Adaptor, LearningRateMetric, LossInput, LossMetric, Metric, MetricMetadata,
    MetricName, Numeric, NumericEntry, SerializedEntry,
};
use burn::train::renderer::CliMetricsRenderer;
use burn::train::{
    ClassificationOutput, EarlyStoppingStrategy, ExecutionStrategy,
    InferenceStep, Interrupter, Learner, MetricEarlyStoppingStrategy,
    MultiDeviceOptim, StoppingCondition, SupervisedTraining, TrainOutput,
    TrainStep,
};
use lesson::{note, record, section};

const TRAIN: usize = 60;
const VALID: usize = 20;
const FEATURES: usize = 4;
const CLASSES: usize = 3;
const HIDDEN: usize = 16;
const BATCH: usize = 16;
const EPOCHS: usize = 12;
const PATIENCE: usize = 2;
const LR: f64 = 0.05;
const GAMMA: f64 = 0.95;
const SEED: u64 = 7;

/// Features of sample `k`, computed in f64 and rounded once.
fn features(k: usize) -> [f32; FEATURES] {
    std::array::from_fn(|j| (0.37 * k as f64 + 1.3 * j as f64).sin() as f32)
}

/// The largest of three sums; every seventh one is moved on by one.
fn label(k: usize) -> i64 {
    let x = features(k);
    let scores = [x[0] + x[1], x[2] - x[3], x[3] - x[0]];
    let best = (0..CLASSES).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    ((best.unwrap() + usize::from(k.is_multiple_of(7))) % CLASSES) as i64
}

#[derive(Clone, Debug)]
struct Batch {
    x: Tensor<2>,
    y: Tensor<1, Int>,
}

type Loader = Arc<dyn DataLoader<Batch>>;

// --8<-- [start:data]
type OnBatch = Arc<dyn Fn(&[usize]) + Send + Sync>;

struct Rows(OnBatch);

// --8<-- [part:batch]
impl Batcher<usize, Batch> for Rows {
    fn batch(&self, rows: Vec<usize>, device: &Device) -> Batch {
        (self.0)(&rows);
        let x = rows.iter().flat_map(|&k| features(k)).collect();
        let y = rows.iter().map(|&k| label(k)).collect();
        let x = TensorData::new::<f32, _>(x, [rows.len(), FEATURES]);
        let y = TensorData::new::<i64, _>(y, [rows.len()]);
        Batch {
            x: Tensor::from_data(x, device),
            y: Tensor::from_data(y, device),
        }
    }
}

// --8<-- [part:]
fn loader(rows: Range<usize>, shuffle: bool, on_batch: OnBatch) -> Loader {
    // --8<-- [part:loader]
    let mut builder = DataLoaderBuilder::new(Rows(on_batch)).batch_size(BATCH);
    // --8<-- [part:shuffle]
    if shuffle {
        builder = builder.shuffle(SEED);
    }
    // --8<-- [part:loader]
    builder.build(InMemDataset::new(rows.collect()))
}
// --8<-- [end:data]

fn train_rows(shuffle: bool, on_batch: OnBatch) -> Loader {
    loader(0..TRAIN, shuffle, on_batch)
}

fn quiet() -> OnBatch {
    Arc::new(|_| {})
}

fn train() -> Loader {
    train_rows(false, quiet())
}

fn valid() -> Loader {
    loader(TRAIN..TRAIN + VALID, false, quiet())
}

#[derive(Module, Debug)]
struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

impl Mlp {
    fn forward_classification(&self, batch: Batch) -> ClassificationOutput {
        let logits = self.fc2.forward(relu(self.fc1.forward(batch.x)));
        let loss = CrossEntropyLossConfig::new()
            .init(&logits.device())
            .forward(logits.clone(), batch.y.clone());
        ClassificationOutput::new(loss, logits, batch.y)
    }
}

/// scale * f(1), scale * f(2), … computed in f64 and rounded once.
fn wave(
    f: fn(f64) -> f64,
    scale: f64,
    shape: [usize; 2],
    device: &Device,
) -> Tensor<2> {
    let values = (0..shape[0] * shape[1])
        .map(|i| (scale * f((i + 1) as f64)) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn build(device: &Device) -> Mlp {
    // PyTorch keeps [out, in], burn [in, out]
    let linear = |weight: Tensor<2>| {
        let [d_in, d_out] = weight.dims();
        let mut linear = LinearConfig::new(d_in, d_out).init(device);
        linear.weight = Param::from_tensor(weight);
        linear.bias = Some(Param::from_tensor(Tensor::zeros([d_out], device)));
        linear
    };
    let fc1 = wave(f64::sin, 0.3, [HIDDEN, FEATURES], device);
    let fc2 = wave(f64::cos, 0.7, [CLASSES, HIDDEN], device);
    Mlp { fc1: linear(fc1.transpose()), fc2: linear(fc2.transpose()) }
}

// --8<-- [start:steps]
impl TrainStep for Mlp {
    type Output = ClassificationOutput;
    type Input = Batch;

    // --8<-- [part:step]
    fn step(&self, batch: Batch) -> TrainOutput<Self::Output> {
        let output = self.forward_classification(batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

// --8<-- [part:]
impl InferenceStep for Mlp {
    type Output = ClassificationOutput;
    type Input = Batch;

    // --8<-- [part:validate]
    fn step(&self, batch: Batch) -> Self::Output {
        self.forward_classification(batch)
    }
}
// --8<-- [end:steps]

fn sgd() -> ModuleOptimizer {
    let momentum = MomentumConfig::new().with_dampening(0.0);
    SgdConfig::new().with_momentum(Some(momentum)).init()
}

fn adam() -> ModuleOptimizer {
    AdamConfig::new().with_epsilon(1e-8).init()
}

fn schedule(lr: f64) -> ModuleLrScheduler {
    ExponentialLrSchedulerConfig::new(lr, GAMMA).init().unwrap()
}

// --8<-- [start:fit]
fn learner(device: &Device) -> Learner<Mlp> {
    // --8<-- [part:state]
    Learner::new(build(device), sgd(), schedule(LR))
}

// --8<-- [part:]
fn lowest(metric: &impl Metric) -> MetricEarlyStoppingStrategy {
    // --8<-- [part:stop]
    MetricEarlyStoppingStrategy::new(
        metric,
        Aggregate::Mean,
        Direction::Lowest,
        Split::Valid,
        StoppingCondition::NoImprovementSince { n_epochs: PATIENCE },
    )
}

// --8<-- [part:]
fn training(folder: &str, train: Loader) -> SupervisedTraining<Mlp> {
    SupervisedTraining::new(folder, train, valid())
        // --8<-- [part:validate]
        .metrics((LossMetric::new(), SampleLoss::default()))
        .metric_train_numeric(LearningRateMetric::new())
        // --8<-- [part:save]
        .with_default_checkpointers()
        // --8<-- [part:stop]
        .early_stopping(lowest(&LossMetric::new()))
        // --8<-- [part:epochs]
        .num_epochs(EPOCHS)
        // --8<-- [part:]
        .renderer(Box::new(CliMetricsRenderer::new()))
}
// --8<-- [end:fit]

// --8<-- [start:metric]
struct SampleLossInput {
    loss: Tensor<1>,
    samples: usize,
}

impl Adaptor<SampleLossInput> for ClassificationOutput {
    fn adapt(&self) -> SampleLossInput {
        let [samples] = self.targets.dims();
        SampleLossInput { loss: self.loss.clone(), samples }
    }
}

#[derive(Clone, Default)]
struct SampleLoss {
    state: NumericMetricState,
}
// --8<-- [end:metric]

// --8<-- [start:metric-impl]
type Entry = Result<SerializedEntry, TensorReadError>;

impl Metric for SampleLoss {
    type Input = SampleLossInput;

    fn name(&self) -> MetricName {
        MetricName::new("SampleLoss".to_string())
    }

    fn update(&mut self, input: &Self::Input, _: &MetricMetadata) -> Entry {
        let loss = input.loss.clone().try_into_scalar::<f64>()?;
        self.state.update(loss, input.samples);
        Ok(self.state.compute_update(FormatOptions::new(self.name())))
    }

    fn compute(&mut self) -> Entry {
        Ok(self.state.compute_final(FormatOptions::new(self.name())))
    }

    fn clear(&mut self) {
        self.state.reset();
    }
}
// --8<-- [end:metric-impl]

impl Numeric for SampleLoss {
    fn value(&self) -> Option<NumericEntry> {
        Some(self.state.current_value())
    }

    fn running_value(&self) -> Option<NumericEntry> {
        Some(self.state.running_value())
    }

    fn final_value(&self) -> NumericEntry {
        self.state.final_value()
    }
}

/// A log with its last line: a thread of its own writes it, which may still
/// be at it when `launch` returns.
fn finished(path: &str) -> String {
    for _ in 0..500 {
        let log = fs::read_to_string(path).unwrap_or_default();
        if log.trim_end().ends_with("final") {
            return log;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{path} has no last line");
}

/// One metric in one epoch, from the Learner's log: its value for each batch,
/// and for the whole (of an epoch that ended).
fn logged(
    folder: &str,
    split: &str,
    epoch: usize,
    metric: &str,
) -> (Vec<f64>, f64) {
    let path = format!("{folder}/{split}/epoch-{epoch}/{metric}.log");
    let log = finished(&path);
    let value = |line: &str| line.split_once(',').unwrap().0.parse().unwrap();
    let mut values: Vec<f64> = log.lines().map(value).collect();
    let whole = values.pop().unwrap();
    (values, whole)
}

fn train_log(folder: &str, epochs: Range<usize>, metric: &str) -> Vec<f64> {
    epochs.flat_map(|e| logged(folder, "train", e, metric).0).collect()
}

fn losses(folder: &str, epochs: Range<usize>) -> Vec<f32> {
    let log = train_log(folder, epochs, "Loss");
    log.iter().map(|&loss| loss as f32).collect()
}

fn valid_log(folder: &str, epochs: Range<usize>, metric: &str) -> Vec<f32> {
    epochs.map(|e| logged(folder, "valid", e, metric).1 as f32).collect()
}

/// The epochs whose checkpoints are there.
fn kept(folder: &str) -> Vec<usize> {
    let files = fs::read_dir(format!("{folder}/checkpoint")).unwrap();
    let mut epochs: Vec<usize> = files
        .filter_map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            name.strip_prefix("model-")?.strip_suffix(".bpk")?.parse().ok()
        })
        .collect();
    epochs.sort_unstable();
    epochs
}

fn last(folder: &str) -> usize {
    *kept(folder).last().unwrap()
}

/// What became of a training, in a line.
fn told(name: &str, folder: &str) -> String {
    let kept = kept(folder).iter().map(usize::to_string).collect::<Vec<_>>();
    format!("{name}: last epoch {}, kept {}\n", last(folder), kept.join(" "))
}

fn parameters(model: &Mlp) -> TensorData {
    let flat = |linear: &Linear| {
        let weight: Tensor<1> = linear.weight.val().transpose().flatten(0, 1);
        Tensor::cat(vec![weight, linear.bias.as_ref().unwrap().val()], 0)
    };
    Tensor::cat(vec![flat(&model.fc1), flat(&model.fc2)], 0).into_data()
}

fn same<T: PartialEq>(left: &[T], right: &[T]) -> String {
    let equal = left.iter().zip(right).filter(|(a, b)| a == b).count();
    format!("{equal} of {} equal", left.len().max(right.len()))
}

fn whole(device: &Device) -> String {
    // --8<-- [start:whole]
    let result = training("whole", train()).launch(learner(device));
    // --8<-- [end:whole]
    let epochs = 1..last("whole") + 1;
    let mut text = String::new();
    let per_batch = valid_log("whole", epochs.clone(), "Loss");
    let per_sample = valid_log("whole", epochs.clone(), "SampleLoss");
    for (epoch, (a, b)) in (1..).zip(per_batch.iter().zip(&per_sample)) {
        text += &format!("epoch {epoch}  per batch {a:.4}, sample {b:.4}\n");
    }
    text += &told("whole", "whole");
    record("whole.train_loss", losses("whole", epochs.clone()).as_slice());
    record("whole.per_batch", per_batch.as_slice());
    record("whole.per_sample", per_sample.as_slice());
    record("whole.kept", kept("whole").as_slice());
    record("whole.params", parameters(&result.model));
    let rates = train_log("whole", epochs.clone(), "Learning_Rate");
    record("whole.rates", rates.as_slice());
    for (name, size) in [("train", TRAIN), ("valid", VALID), ("batch", BATCH)] {
        record(&format!("task.{name}"), [size]);
    }
    note("whole.interrupted", [result.interrupted.is_some()]);
    note("whole.error", [result.error.is_some()]);
    record("task.epochs", [EPOCHS]);
    record("task.patience", [PATIENCE]);
    record("task.lr", [LR]);
    record("task.gamma", [GAMMA]);
    text
}

fn fed<M: Metric + Numeric>(mut metric: M, inputs: &[M::Input]) -> f64 {
    let metadata = MetricMetadata {
        progress: Progress::new(1, 1, None),
        iteration: None,
        lr: None,
    };
    for input in inputs {
        metric.update(input, &metadata).unwrap();
    }
    metric.final_value().current()
}

fn weighted(device: &Device) -> String {
    // --8<-- [start:weighted]
    // --8<-- [part:keep]
    let best = MetricCheckpointingStrategy::new(
        &SampleLoss::default(),
        Aggregate::Mean,
        Direction::Lowest,
        Split::Valid,
    );
    let rules = ComposedCheckpointingStrategy::builder()
        .add(KeepLastNCheckpoints::new(2))
        .add(best)
        .build();
    // --8<-- [part:fit]
    training("weighted", train())
        .with_checkpointing_strategy(rules)
        .early_stopping(lowest(&SampleLoss::default()))
        .launch(learner(device));
    // --8<-- [end:weighted]

    let loss = |x: &[f32]| Tensor::<1>::from_data(x, device);
    let means = [loss(&[1.0]), loss(&[6.0])].map(LossInput::new);
    let each = [loss(&[1.0; 4]), loss(&[6.0])].map(LossInput::new);
    let counted = [(1.0, 4), (6.0, 1)].map(|(mean, samples)| SampleLossInput {
        loss: loss(&[mean]),
        samples,
    });
    let means = fed(LossMetric::new(), &means);
    record("two_batches.per_batch", [means as f32]);
    note("two_batches.unreduced", [fed(LossMetric::new(), &each) as f32]);
    let counted = fed(SampleLoss::default(), &counted);
    record("two_batches.per_sample", [counted as f32]);
    record("weighted.kept", kept("weighted").as_slice());
    told("by Loss", "whole") + &told("by SampleLoss", "weighted")
}

fn resumed(device: &Device) -> String {
    // --8<-- [start:resume]
    // --8<-- [part:first]
    training("resumed", train()).num_epochs(3).launch(learner(device));
    // --8<-- [part:second]
    let result =
        training("resumed", train()).checkpoint(3).launch(learner(device));
    // --8<-- [end:resume]
    let end = last("resumed") + 1;
    record("resumed.train_loss", losses("resumed", 1..end).as_slice());
    let rates = train_log("resumed", 1..end, "Learning_Rate");
    record("resumed.rates", rates.as_slice());
    note("resumed.kept", kept("resumed").as_slice());
    record("resumed.params", parameters(&result.model));

    // --8<-- [start:forgotten]
    SupervisedTraining::<Mlp>::new("forgotten", train(), valid())
        .metrics((LossMetric::new(),))
        .checkpoint(3)
        .num_epochs(4)
        .renderer(Box::new(CliMetricsRenderer::new()))
        .launch(learner(device));
    // --8<-- [end:forgotten]
    note("forgotten.train_loss", losses("forgotten", 4..5).as_slice());

    let adam = || Learner::new(build(device), adam(), schedule(LR));
    let two = |folder| training(folder, train()).num_epochs(4);
    two("adam").launch(adam());
    two("adam-resumed").num_epochs(2).launch(adam());
    two("adam-resumed").checkpoint(2).launch(adam());
    record("adam.train_loss", losses("adam", 1..5).as_slice());
    record("adam-resumed.train_loss", losses("adam-resumed", 1..5).as_slice());

    let steps = |folder| losses(folder, 4..last("whole") + 1);
    told("whole", "whole")
        + &told("resumed", "resumed")
        + &format!("losses: {}\n", same(&steps("whole"), &steps("resumed")))
}

// --8<-- [start:by-hand]
fn by_hand(device: &Device) -> Vec<f32> {
    // --8<-- [part:load]
    let at = |name| format!("whole/checkpoint/{name}-5.bpk");
    let mut model = build(device).load_file(at("model"));
    let mut optimizer = sgd().load(at("optim")).unwrap();
    let record = LrSchedulerRecord::load(at("scheduler")).unwrap();
    let mut scheduler = schedule(LR).load_record(record);
    // --8<-- [part:step]
    let mut losses = Vec::new();
    for batch in train().to_device(device).iter() {
        let loss = model.forward_classification(batch.unwrap()).loss;
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(scheduler.step(), model, gradients);
        losses.push(loss.into_scalar::<f32>());
    }
    losses
}
// --8<-- [end:by-hand]

// --8<-- [start:skip]
struct Skip {
    loader: Loader,
    epochs: usize,
}

impl DataLoader<Batch> for Skip {
    fn to_device(&self, device: &Device) -> Loader {
        let loader = self.loader.to_device(device);
        for _ in 0..self.epochs {
            loader.iter(); // draws an order, reads nothing
        }
        loader
    }

    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<Batch> + 'a> {
        self.loader.iter()
    }

    fn num_items(&self) -> usize {
        self.loader.num_items()
    }

    fn slice(&self, start: usize, end: usize) -> Loader {
        self.loader.slice(start, end)
    }
}
// --8<-- [end:skip]

/// The shuffled training rows, and the numbers of those that were read.
fn watched() -> (Loader, Arc<Mutex<Vec<usize>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    let on_batch =
        move |rows: &[usize]| list.lock().unwrap().extend_from_slice(rows);
    (train_rows(true, Arc::new(on_batch)), seen)
}

/// What a plain resume does to the order, and what a skipping one does.
fn shuffled(device: &Device) -> [String; 2] {
    let take = |seen: Arc<Mutex<Vec<usize>>>| seen.lock().unwrap().clone();
    let two = |folder, train| training(folder, train).num_epochs(4);
    let (train, seen) = watched();
    two("shuffled", train).launch(learner(device));
    let order = take(seen);
    two("naive", watched().0).num_epochs(2).launch(learner(device));
    let (train, seen) = watched();
    two("naive", train).checkpoint(2).launch(learner(device));
    let naive = take(seen);
    two("skipped", watched().0).num_epochs(2).launch(learner(device));
    let (train, seen) = watched();
    // --8<-- [start:shuffled]
    two("skipped", Arc::new(Skip { loader: train, epochs: 2 }))
        .checkpoint(2)
        .launch(learner(device));
    // --8<-- [end:shuffled]
    let skipped = take(seen);

    let losses = |folder| losses(folder, 3..5);
    let line =
        |name: &str, rows: &[usize]| format!("{name:18}{:?} …\n", &rows[..6]);
    let share = |folder| {
        note(&format!("{folder}.train_loss"), losses(folder).as_slice());
        format!("losses: {}\n", same(&losses("shuffled"), &losses(folder)))
    };
    let plain = line("whole, epoch 1", &order)
        + &line("whole, epoch 3", &order[2 * TRAIN..])
        + &line("resumed, epoch 3", &naive)
        + &share("naive");
    let mended = line("resumed, epoch 3", &skipped) + &share("skipped");
    note("shuffled.train_loss", losses("shuffled").as_slice());
    note("shuffled.rows", order.as_slice());
    note("naive.rows", naive.as_slice());
    note("skipped.rows", skipped.as_slice());
    [plain, mended]
}

fn interrupted(device: &Device) -> String {
    // --8<-- [start:interrupt]
    // --8<-- [part:handle]
    let interrupter = Interrupter::new();
    let (handle, count) = (interrupter.clone(), AtomicUsize::new(0));
    // --8<-- [part:ask]
    let ask = move |_: &[usize]| {
        if count.fetch_add(1, Ordering::Relaxed) + 1 == 10 {
            handle.stop(Some("batch 10"));
        }
    };
    // --8<-- [part:fit]
    let result = training("interrupted", train_rows(false, Arc::new(ask)))
        .with_interrupter(interrupter)
        .launch(learner(device));
    // --8<-- [end:interrupt]
    let path = "interrupted/train/epoch-3/Loss.log";
    let log = finished(path);
    let reason = result.interrupted.unwrap().reason.unwrap();
    note("interrupted.lines", [log.lines().count()]);
    let losses: Vec<f32> = log
        .lines()
        .take(2)
        .map(|line| line.split_once(',').unwrap().0.parse().unwrap())
        .collect();
    record("interrupted.train_loss", losses.as_slice());
    record("interrupted.kept", kept("interrupted").as_slice());
    record("interrupted.params", parameters(&result.model));
    let text = format!("reason: {reason}\n") + &told("stopped", "interrupted");

    training("interrupted", train()).checkpoint(2).launch(learner(device));
    let end = last("whole") + 1;
    let again = self::losses("interrupted", 3..end);
    note("interrupted.again", again.as_slice());
    let equal = same(&self::losses("whole", 3..end), &again);
    text + &format!("resumed at 2: losses {equal}\n")
}

fn devices(device: &Device) -> String {
    // --8<-- [start:plain]
    let plain = Device::flex(); // no autodiff
    let model = build(&plain).train();
    training("plain", train()).launch(Learner::new(model, sgd(), schedule(LR)));
    // --8<-- [end:plain]
    let end = last("whole") + 1;
    let equal = same(&losses("whole", 1..end), &losses("plain", 1..end));
    note("plain.train_loss", losses("plain", 1..end).as_slice());

    // --8<-- [start:devices]
    // --8<-- [part:halves]
    let two = vec![device.clone(), device.clone()];
    let strategy =
        ExecutionStrategy::multi(two, MultiDeviceOptim::OptimMainDevice);
    // --8<-- [part:fit]
    let result = training("two-devices", train())
        .with_training_strategy(strategy.into())
        .num_epochs(2)
        .launch(learner(device));
    // --8<-- [end:devices]
    record("devices.params", parameters(&result.model));
    let rates = train_log("two-devices", 1..3, "Learning_Rate");
    note("devices.rates", rates.as_slice());
    format!("model without autodiff: losses {equal}\n")
}

/// A model on a device without autodiff, whose parameters exist already.
fn untracked() {
    // The thread that prints the progress goes first.
    let begin = |_: &[usize]| {
        thread::sleep(Duration::from_millis(300));
        section("untracked");
    };
    let train = || train_rows(false, Arc::new(begin));
    // --8<-- [start:untracked]
    training("plain", train()).launch(learner(&Device::flex()));
    // --8<-- [end:untracked]
}

fn leftovers(device: &Device) -> String {
    // --8<-- [start:leftovers]
    let slow = || Learner::new(build(device), sgd(), schedule(0.01));
    training("fresh", train()).launch(slow());
    training("reused", train()).launch(learner(device));
    training("reused", train()).launch(slow());
    // --8<-- [end:leftovers]
    let valid = |folder| valid_log(folder, 1..last(folder) + 1, "Loss");
    note("fresh.per_batch", valid("fresh").as_slice());
    note("reused.per_batch", valid("reused").as_slice());
    note("fresh.kept", kept("fresh").as_slice());
    note("reused.kept", kept("reused").as_slice());
    told("new folder", "fresh") + &told("used folder", "reused")
}

// --8<-- [start:patience]
#[derive(Clone)]
struct Patience(usize);

impl EarlyStoppingStrategy for Patience {
    fn should_stop(&mut self, epoch: usize, store: &EventStoreClient) -> bool {
        let best = store.find_epoch(
            "Loss",
            Aggregate::Mean,
            Direction::Lowest,
            &Split::Valid,
        );
        best.is_some_and(|best| epoch.saturating_sub(best) >= self.0)
    }
}
// --8<-- [end:patience]

fn second_patience(device: &Device) {
    // --8<-- [start:second-patience]
    // --8<-- [part:first]
    training("again", train()).num_epochs(6).launch(learner(device));
    // --8<-- [part:second]
    training("again", train()).checkpoint(6).launch(learner(device));
    // --8<-- [end:second-patience]
    training("logs", train()).num_epochs(6).launch(learner(device));
    training("logs", train())
        .early_stopping(Patience(PATIENCE))
        .checkpoint(6)
        .launch(learner(device));
    section("second-patience");
    print!("{}", told("again", "again"));
    print!("{}", told("from the logs", "logs"));
    record("again.last", [last("again")]);
    record("logs.last", [last("logs")]);
    let losses = valid_log("again", 1..last("again") + 1, "Loss");
    record("again.per_batch", losses.as_slice());
}

/// Goes to an empty folder: a training goes by what an earlier one has left.
fn clear(folder: &str) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    std::env::set_current_dir(folder).unwrap();
}

fn main() {
    clear("trainings/burn");
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        // The Learner prints its progress; what the page shows comes after it.
        None => {
            let first = [
                ("whole", whole(&device)),
                ("weighted", weighted(&device)),
                ("resume", resumed(&device)),
            ];
            let [plain, mended] = shuffled(&device);
            let then = [
                ("order", plain),
                ("shuffled", mended),
                ("interrupt", interrupted(&device)),
                ("plain", devices(&device)),
                ("leftovers", leftovers(&device)),
            ];
            record("by_hand.train_loss", by_hand(&device).as_slice());
            for (name, text) in first.into_iter().chain(then) {
                section(name);
                print!("{text}");
            }
        }
        Some("untracked") => untracked(),
        Some("second-patience") => second_patience(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
