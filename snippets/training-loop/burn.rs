//! A training loop twice: by hand, and by burn's Learner. Three epochs, validation and a checkpoint after each.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::InMemDataset;
use burn::module::Param;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, ModuleOptimizer, SgdConfig};
use burn::prelude::*;
use burn::tensor::activation::relu;
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::renderer::CliMetricsRenderer;
use burn::train::{
    ClassificationOutput, InferenceStep, Learner, LearningResult,
    SupervisedTraining, TrainOutput, TrainStep,
};
use lesson::{note, record, section, timing};

// --8<-- [start:task]
// --8<-- [part:sizes]
const TRAIN: usize = 96;
const VALID: usize = 24;
const FEATURES: usize = 4;
const CLASSES: usize = 3;
const BATCH: usize = 16;
const EPOCHS: usize = 3;
const LR: f64 = 0.1;

// --8<-- [part:]
#[derive(Clone, Debug)]
struct Sample {
    x: [f32; FEATURES],
    y: i64,
}

/// Features computed in f64 and rounded once.
fn sample(k: usize) -> Sample {
    // --8<-- [part:features]
    let x: [f32; FEATURES] = std::array::from_fn(|j| {
        (0.37 * k as f64 + 1.3 * j as f64).sin() as f32
    });
    // --8<-- [part:labels]
    let scores = [x[0] + x[1], x[2] - x[3], x[3] - x[0]];
    let best = (0..CLASSES).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    Sample { x, y: best.unwrap() as i64 }
}

// --8<-- [part:]
#[derive(Clone, Debug)]
struct Batch {
    x: Tensor<2>,
    y: Tensor<1, Int>,
}

#[derive(Clone)]
struct SampleBatcher;

impl Batcher<Sample, Batch> for SampleBatcher {
    fn batch(&self, samples: Vec<Sample>, device: &Device) -> Batch {
        let x: Vec<f32> = samples.iter().flat_map(|s| s.x).collect();
        let y: Vec<i64> = samples.iter().map(|s| s.y).collect();
        let n = samples.len();
        Batch {
            x: Tensor::from_data(TensorData::new(x, [n, FEATURES]), device),
            y: Tensor::from_data(TensorData::new(y, [n]), device),
        }
    }
}

type Loader = Arc<dyn DataLoader<Batch>>;

fn loaders(device: &Device) -> (Loader, Loader) {
    // --8<-- [part:loaders]
    let loader = |device: Device, range: Range<usize>| {
        DataLoaderBuilder::new(SampleBatcher)
            .batch_size(BATCH)
            .set_device(device)
            .build(InMemDataset::new(range.map(sample).collect()))
    };
    let train = loader(device.clone(), 0..TRAIN);
    let valid = loader(device.clone().inner(), TRAIN..TRAIN + VALID);
    (train, valid)
}
// --8<-- [end:task]

// --8<-- [start:model]
const HIDDEN: usize = 8;

// --8<-- [part:layers]
#[derive(Module, Debug)]
struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

// --8<-- [part:]
impl Mlp {
    // --8<-- [part:forward]
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(relu(self.fc1.forward(x)))
    }

    // --8<-- [part:]
    fn forward_classification(&self, batch: Batch) -> ClassificationOutput {
        let logits = self.forward(batch.x);
        let loss = CrossEntropyLossConfig::new()
            .init(&logits.device())
            .forward(logits.clone(), batch.y.clone());
        ClassificationOutput::new(loss, logits, batch.y)
    }
}

// --8<-- [part:formula]
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

// --8<-- [part:build]
fn build(device: &Device) -> Mlp {
    // PyTorch keeps [out, in], burn [in, out]
    let linear = |weight: Tensor<2>| {
        let [d_in, d_out] = weight.dims();
        let mut linear = LinearConfig::new(d_in, d_out).init(device);
        linear.weight = Param::from_tensor(weight);
        linear.bias = Some(Param::from_tensor(Tensor::zeros([d_out], device)));
        linear
    };
    Mlp {
        fc1: linear(
            wave(f64::sin, 0.3, [HIDDEN, FEATURES], device).transpose(),
        ),
        fc2: linear(wave(f64::cos, 0.7, [CLASSES, HIDDEN], device).transpose()),
    }
}
// --8<-- [end:model]

// --8<-- [start:train]
fn train_epoch(
    mut model: Mlp,
    optimizer: &mut ModuleOptimizer,
    batches: &Loader,
    losses: &mut Vec<f32>,
) -> Mlp {
    for batch in batches.iter() {
        // --8<-- [part:forward]
        let loss = model.forward_classification(batch.unwrap()).loss;
        // --8<-- [part:backward]
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        // --8<-- [part:keep]
        losses.push(loss.into_scalar::<f32>());
        // --8<-- [part:update]
        model = optimizer.step(LR, model, gradients);
    }
    model
}
// --8<-- [end:train]

// --8<-- [start:validate]
struct Scores {
    per_batch: f64,
    per_sample: f64,
    accuracy: f64,
}

/// Loss averaged per batch and per sample, accuracy in %.
fn validate(model: &Mlp, batches: &Loader) -> Scores {
    // --8<-- [part:mode]
    let model = model.valid();
    // --8<-- [part:]
    let (mut total, mut weighted, mut correct) = (0.0, 0.0, 0);
    let (mut samples, mut count) = (0, 0);
    for batch in batches.iter() {
        // --8<-- [part:forward]
        let output = model.forward_classification(batch.unwrap());
        let [n] = output.targets.dims();
        let loss = output.loss.into_scalar::<f64>();
        // --8<-- [part:averages]
        total += loss;
        weighted += loss * n as f64;
        // --8<-- [part:accuracy]
        let predicted = output.output.argmax(1).squeeze_dim::<1>(1);
        let hits = predicted.equal(output.targets).int().sum();
        correct += hits.into_scalar::<i64>();
        // --8<-- [part:averages]
        samples += n;
        count += 1;
    }
    Scores {
        per_batch: total / count as f64,
        per_sample: weighted / samples as f64,
        accuracy: 100.0 * correct as f64 / samples as f64,
    }
}
// --8<-- [end:validate]

// --8<-- [start:loop]
fn fit(
    mut model: Mlp,
    train: &Loader,
    valid: &Loader,
    checkpoints: Option<&Path>,
) -> (Mlp, Vec<f32>, Vec<Scores>) {
    // --8<-- [part:optimizer]
    let mut optimizer = SgdConfig::new().init();
    // --8<-- [part:]
    let (mut losses, mut scores) = (Vec::new(), Vec::new());
    for epoch in 1..=EPOCHS {
        // --8<-- [part:train]
        model = train_epoch(model, &mut optimizer, train, &mut losses);
        // --8<-- [part:validate]
        scores.push(validate(&model, valid));
        // --8<-- [part:checkpoint]
        if let Some(folder) = checkpoints {
            let file = |name| folder.join(format!("{name}-{epoch}.bpk"));
            model.clone().save_file(file("model")).unwrap();
            optimizer.save(file("optimizer")).unwrap();
        }
    }
    // --8<-- [part:]
    (model, losses, scores)
}
// --8<-- [end:loop]

// --8<-- [start:steps]
impl TrainStep for Mlp {
    type Output = ClassificationOutput;
    type Input = Batch;

    fn step(&self, batch: Batch) -> TrainOutput<Self::Output> {
        let output = self.forward_classification(batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

impl InferenceStep for Mlp {
    type Output = ClassificationOutput;
    type Input = Batch;

    fn step(&self, batch: Batch) -> Self::Output {
        self.forward_classification(batch)
    }
}
// --8<-- [end:steps]

// --8<-- [start:learner]
fn learn(model: Mlp, train: Loader, valid: Loader) -> LearningResult<Mlp> {
    SupervisedTraining::new("run", train, valid)
        .metrics((LossMetric::new(), AccuracyMetric::new()))
        .with_default_checkpointers()
        .num_epochs(EPOCHS)
        .renderer(Box::new(CliMetricsRenderer::new()))
        .summary()
        .launch(Learner::new(model, SgdConfig::new().init(), LR))
}
// --8<-- [end:learner]

/// One metric in one epoch, from the Learner's log: its value for each batch,
/// and for the whole.
fn logged(split: &str, epoch: usize, metric: &str) -> (Vec<f64>, f64) {
    let path = format!("run/{split}/epoch-{epoch}/{metric}.log");
    let log = fs::read_to_string(path).unwrap();
    let value = |line: &str| line.split_once(',').unwrap().0.parse().unwrap();
    let mut values: Vec<f64> = log.lines().map(value).collect();
    let whole = values.pop().unwrap();
    (values, whole)
}

fn learner_losses() -> Vec<f32> {
    let epochs =
        (1..=EPOCHS).flat_map(|epoch| logged("train", epoch, "Loss").0);
    epochs.map(|loss| loss as f32).collect()
}

fn hand_written() {
    section("start");
    let checkpoints = Path::new("checkpoints");
    fs::create_dir_all(checkpoints).unwrap();
    // --8<-- [start:start]
    let device = Device::flex().autodiff();
    let (train, valid) = loaders(&device);
    // --8<-- [part:fit]
    let (model, losses, scores) =
        fit(build(&device), &train, &valid, Some(checkpoints));
    // --8<-- [part:print]
    for (epoch, score) in (1..).zip(&scores) {
        let Scores { per_batch, per_sample, accuracy } = score;
        println!("epoch {epoch}  accuracy {accuracy:.2} %");
        println!("  loss per batch {per_batch:.4}, per sample {per_sample:.4}");
    }
    // --8<-- [end:start]

    let sizes = [
        ("train", TRAIN),
        ("valid", VALID),
        ("batch", BATCH),
        ("epochs", EPOCHS),
    ];
    for (name, n) in sizes {
        record(&format!("task.{name}"), [n]);
    }
    let samples = (0..TRAIN + VALID).map(sample).collect();
    let all = SampleBatcher.batch(samples, &device);
    record("task.x", all.x.into_data());
    record("task.y", all.y.into_data());
    record("task.lr", [LR as f32]);
    record("task.parameters", [model.num_params()]);
    record("train_loss", losses.as_slice());
    let column = |f: fn(&Scores) -> f64| {
        scores.iter().map(|s| f(s) as f32).collect::<Vec<_>>()
    };
    record("valid_per_batch", column(|s| s.per_batch).as_slice());
    record("valid_per_sample", column(|s| s.per_sample).as_slice());
    record("valid_accuracy", column(|s| s.accuracy).as_slice());
    for (name, layer) in [("fc1", &model.fc1), ("fc2", &model.fc2)] {
        let weight = layer.weight.val().transpose();
        record(&format!("params.{name}.weight"), weight.into_data());
        let bias = layer.bias.as_ref().unwrap().val();
        record(&format!("params.{name}.bias"), bias.into_data());
    }
}

fn by_learner(device: &Device) {
    section("learner");
    let (train, valid) = loaders(device);
    let model = build(device);
    let result = learn(model.clone(), train, valid);
    note("learner.train_loss", learner_losses().as_slice());
    for epoch in 1..=EPOCHS {
        for metric in ["Loss", "Accuracy"] {
            let (batches, whole) = logged("valid", epoch, metric);
            let name = format!("learner.valid.{metric}.{epoch}");
            note(&format!("{name}.batches"), batches.as_slice());
            note(&format!("{name}.whole"), [whole]);
        }
    }

    section("trained");
    // --8<-- [start:trained]
    let trained = result.model;
    let weight = &trained.fc1.weight;
    println!("as returned, require_grad: {}", weight.is_require_grad());
    println!(
        "same id as before training: {}",
        weight.id == model.fc1.weight.id
    );
    let again = trained.clone().train();
    println!(
        "after train(), require_grad: {}",
        again.fc1.weight.is_require_grad()
    );
    // --8<-- [end:trained]
}

fn brain_teaser() {
    // --8<-- [start:brain-teaser]
    let device = Device::flex().autodiff();
    let (train, valid) = loaders(&device);
    let model = learn(build(&device), train.clone(), valid).model;

    section("brain-teaser");
    let batch = train.iter().next().unwrap().unwrap();
    let loss = model.forward_classification(batch).loss;
    println!("loss {:.4}", loss.clone().into_scalar::<f32>());
    loss.backward();
    // --8<-- [end:brain-teaser]
}

/// The same seed for three loops: by hand, by the Learner, and by hand again
/// with the step in which the Learner prepares its loader.
fn shuffled(device: &Device) {
    let (_, valid) = loaders(device);
    let shuffled_train = || {
        // --8<-- [start:shuffled]
        let train = DataLoaderBuilder::new(SampleBatcher)
            .batch_size(BATCH)
            .shuffle(7)
            .set_device(device.clone())
            .build(InMemDataset::new((0..TRAIN).map(sample).collect()));
        // --8<-- [end:shuffled]
        train
    };
    let by_hand = |train: Loader| fit(build(device), &train, &valid, None).1;
    note("train_loss", by_hand(shuffled_train()).as_slice());
    let forked = shuffled_train().to_device(device);
    note("forked.train_loss", by_hand(forked).as_slice());
    learn(build(device), shuffled_train(), valid.clone());
    note("learner.train_loss", learner_losses().as_slice());
}

/// Both loops with and without checkpoints; the Learner also without metrics
/// and logs.
fn cost(device: &Device) {
    let checkpoints = Path::new("checkpoints");
    fs::create_dir_all(checkpoints).unwrap();
    let by_hand = |checkpoints| {
        let (train, valid) = loaders(device);
        fit(build(device), &train, &valid, checkpoints)
    };
    let training = || {
        let (train, valid) = loaders(device);
        SupervisedTraining::<Mlp>::new("run", train, valid)
            .num_epochs(EPOCHS)
            .renderer(Box::new(CliMetricsRenderer::new()))
    };
    let with_metrics = |training: SupervisedTraining<Mlp>| {
        training.metrics((LossMetric::new(), AccuracyMetric::new())).summary()
    };
    let learner = || Learner::new(build(device), SgdConfig::new().init(), LR);
    with_metrics(training()).launch(learner());
    timing("by-hand", 5, || by_hand(None));
    timing("by-hand.saving", 5, || by_hand(Some(checkpoints)));
    timing("learner.bare", 5, || {
        training().with_application_logger(None).launch(learner())
    });
    timing("learner.metrics", 5, || with_metrics(training()).launch(learner()));
    timing("learner", 5, || {
        with_metrics(training()).with_default_checkpointers().launch(learner())
    });
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            hand_written();
            by_learner(&device);
        }
        Some("brain-teaser") => brain_teaser(),
        Some("shuffled") => shuffled(&device),
        Some("cost") => cost(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
