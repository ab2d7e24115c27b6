//! A training loop twice: by hand, and by burn's Learner. Three epochs, validation and a checkpoint after each.

use std::fs;
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
const TRAIN: usize = 96;
const VALID: usize = 24;
const FEATURES: usize = 4;
const CLASSES: usize = 3;
const BATCH: usize = 16;
const EPOCHS: usize = 3;
const LR: f64 = 0.1;

#[derive(Clone, Debug)]
struct Sample {
    x: [f32; FEATURES],
    y: i64,
}

/// Features computed in f64 and rounded once.
fn sample(k: usize) -> Sample {
    let x: [f32; FEATURES] = std::array::from_fn(|j| {
        (0.37 * k as f64 + 1.3 * j as f64).sin() as f32
    });
    let scores = [x[0] + x[1], x[2] - x[3], x[3] - x[0]];
    let best = (0..CLASSES).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    Sample { x, y: best.unwrap() as i64 }
}

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
    let loader = |device: Device, range: std::ops::Range<usize>| {
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

#[derive(Module, Debug)]
struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

impl Mlp {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(relu(self.fc1.forward(x)))
    }

    fn forward_classification(&self, batch: Batch) -> ClassificationOutput {
        let logits = self.forward(batch.x);
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
) -> (Mlp, Vec<f32>) {
    let mut losses = Vec::new();
    for batch in batches.iter() {
        let loss = model.forward_classification(batch.unwrap()).loss;
        losses.push(loss.clone().into_scalar::<f32>());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(LR, model, gradients);
    }
    (model, losses)
}
// --8<-- [end:train]

// --8<-- [start:validate]
/// Loss averaged per batch and per sample, accuracy in %.
fn validate(model: &Mlp, batches: &Loader) -> (f64, f64, f64) {
    let model = model.valid();
    let (mut total, mut weighted, mut correct, mut samples, mut count) =
        (0.0, 0.0, 0, 0, 0);
    for batch in batches.iter() {
        let output = model.forward_classification(batch.unwrap());
        let [n] = output.targets.dims();
        let loss = output.loss.into_scalar::<f64>();
        total += loss;
        weighted += loss * n as f64;
        let predicted = output.output.argmax(1).squeeze_dim::<1>(1);
        correct +=
            predicted.equal(output.targets).int().sum().into_scalar::<i64>();
        samples += n;
        count += 1;
    }
    let n = samples as f64;
    (total / count as f64, weighted / n, 100.0 * correct as f64 / n)
}
// --8<-- [end:validate]

// --8<-- [start:loop]
fn fit(
    mut model: Mlp,
    optimizer: &mut ModuleOptimizer,
    (train, valid): &(Loader, Loader),
    checkpoints: Option<&Path>,
) -> (Mlp, Vec<f32>, Vec<(f64, f64, f64)>) {
    let (mut losses, mut scores) = (Vec::new(), Vec::new());
    for epoch in 1..=EPOCHS {
        let epoch_losses;
        (model, epoch_losses) = train_epoch(model, optimizer, train);
        losses.extend(epoch_losses);
        scores.push(validate(&model, valid));
        if let Some(folder) = checkpoints {
            model
                .clone()
                .save_file(folder.join(format!("model-{epoch}.bpk")))
                .unwrap();
            optimizer
                .save(folder.join(format!("optimizer-{epoch}.bpk")))
                .unwrap();
        }
    }
    (model, losses, scores)
}
// --8<-- [end:loop]

// --8<-- [start:steps]
impl TrainStep for Mlp {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        let output = self.forward_classification(batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

impl InferenceStep for Mlp {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        self.forward_classification(batch)
    }
}
// --8<-- [end:steps]

// --8<-- [start:learner]
fn learn(
    model: Mlp,
    (train, valid): (Loader, Loader),
    folder: &str,
) -> LearningResult<Mlp> {
    SupervisedTraining::new(folder, train, valid)
        .metric_train_numeric(LossMetric::new())
        .metric_valid_numeric(LossMetric::new())
        .metric_valid_numeric(AccuracyMetric::new())
        .with_default_checkpointers()
        .num_epochs(EPOCHS)
        .renderer(Box::new(CliMetricsRenderer::new()))
        .summary()
        .launch(Learner::new(model, SgdConfig::new().init(), LR))
}
// --8<-- [end:learner]

// --8<-- [start:logs]
/// One metric in one epoch: its value for each batch, and for the whole.
fn logged(
    folder: &str,
    split: &str,
    epoch: usize,
    metric: &str,
) -> (Vec<f64>, f64) {
    let log = fs::read_to_string(format!(
        "{folder}/{split}/epoch-{epoch}/{metric}.log"
    ))
    .unwrap();
    let mut values: Vec<f64> = log
        .lines()
        .map(|line| line.split_once(',').unwrap().0.parse().unwrap())
        .collect();
    let whole = values.pop().unwrap();
    (values, whole)
}
// --8<-- [end:logs]

fn learner_losses(folder: &str) -> Vec<f32> {
    let epochs =
        (1..=EPOCHS).flat_map(|epoch| logged(folder, "train", epoch, "Loss").0);
    epochs.map(|loss| loss as f32).collect()
}

fn hand_written(device: &Device) {
    section("loop");
    let checkpoints = Path::new("checkpoints");
    fs::create_dir(checkpoints).unwrap();
    let data = loaders(device);
    let (model, losses, scores) = fit(
        build(device),
        &mut SgdConfig::new().init(),
        &data,
        Some(checkpoints),
    );
    for (epoch, (mean, weighted, accuracy)) in (1..).zip(&scores) {
        let step = epoch * losses.len() / EPOCHS - 1;
        println!("epoch {epoch}  last train loss {:.4}", losses[step]);
        println!(
            "  valid loss per batch {mean:.4}  per sample {weighted:.4}  accuracy {accuracy:.2} %"
        );
    }

    let all =
        SampleBatcher.batch((0..TRAIN + VALID).map(sample).collect(), device);
    record("task.x", all.x.into_data());
    record("task.y", all.y.into_data());
    for (name, n) in [
        ("train", TRAIN),
        ("valid", VALID),
        ("classes", CLASSES),
        ("batch", BATCH),
        ("epochs", EPOCHS),
    ] {
        record(&format!("task.{name}"), [n]);
    }
    record("task.lr", [LR as f32]);
    record(
        "task.last_valid_batch",
        data.1.iter().last().unwrap().unwrap().y.dims(),
    );
    record("task.parameters", [model.num_params()]);
    record("task.steps", [losses.len()]);
    record("train_loss", losses.as_slice());
    let column = |f: fn(&(f64, f64, f64)) -> f64| {
        scores.iter().map(|s| f(s) as f32).collect::<Vec<_>>()
    };
    record("valid_per_batch", column(|s| s.0).as_slice());
    record("valid_per_sample", column(|s| s.1).as_slice());
    record("valid_accuracy", column(|s| s.2).as_slice());
    for (name, layer) in [("fc1", &model.fc1), ("fc2", &model.fc2)] {
        record(
            &format!("params.{name}.weight"),
            layer.weight.val().transpose().into_data(),
        );
        record(
            &format!("params.{name}.bias"),
            layer.bias.as_ref().unwrap().val().into_data(),
        );
    }
}

fn by_learner(device: &Device) {
    section("learner");
    let model = build(device);
    let result = learn(model.clone(), loaders(device), "run");
    note("learner.train_loss", learner_losses("run").as_slice());
    for epoch in 1..=EPOCHS {
        for metric in ["Loss", "Accuracy"] {
            let (batches, whole) = logged("run", "valid", epoch, metric);
            note(
                &format!("learner.valid.{metric}.{epoch}.batches"),
                batches.as_slice(),
            );
            note(&format!("learner.valid.{metric}.{epoch}.whole"), [whole]);
        }
    }

    section("trained");
    // --8<-- [start:trained]
    let trained = result.model;
    println!(
        "as launch returns it, require_grad: {}",
        trained.fc1.weight.is_require_grad()
    );
    println!(
        "after train(), require_grad: {}",
        trained.clone().train().fc1.weight.is_require_grad()
    );
    println!(
        "the id it had before training: {}",
        trained.fc1.weight.id == model.fc1.weight.id
    );
    // --8<-- [end:trained]
}

fn brain_teaser(device: &Device) {
    let model = learn(build(device), loaders(device), "run").model;
    section("brain-teaser");
    // --8<-- [start:brain-teaser]
    let batch = SampleBatcher.batch((0..BATCH).map(sample).collect(), device);
    let loss = model.forward_classification(batch).loss;
    println!(
        "loss {:.6}, tracked {}",
        loss.clone().into_scalar::<f32>(),
        loss.is_tracked()
    );
    loss.backward();
    // --8<-- [end:brain-teaser]
}

/// The same seed for both loops: each draws its batches from a loader of its own.
fn shuffled(device: &Device) {
    let loaders = || {
        let (_, valid) = loaders(device);
        // --8<-- [start:shuffled]
        let train = DataLoaderBuilder::new(SampleBatcher)
            .batch_size(BATCH)
            .shuffle(7)
            .set_device(device.clone())
            .build(InMemDataset::new((0..TRAIN).map(sample).collect()));
        // --8<-- [end:shuffled]
        (train, valid)
    };
    let (_, losses, _) =
        fit(build(device), &mut SgdConfig::new().init(), &loaders(), None);
    note("train_loss", losses.as_slice());
    learn(build(device), loaders(), "run");
    note("learner.train_loss", learner_losses("run").as_slice());
}

/// The Learner whole, without its checkpoints, and without checkpoints, metrics and logs.
fn cost(device: &Device) {
    let training = || {
        let (train, valid) = loaders(device);
        SupervisedTraining::<Mlp>::new("run", train, valid)
            .num_epochs(EPOCHS)
            .renderer(Box::new(CliMetricsRenderer::new()))
    };
    let learner = || Learner::new(build(device), SgdConfig::new().init(), LR);
    let metrics = |training: SupervisedTraining<Mlp>| {
        let training = training.metric_train_numeric(LossMetric::new());
        training
            .metric_valid_numeric(LossMetric::new())
            .metric_valid_numeric(AccuracyMetric::new())
    };
    learn(build(device), loaders(device), "run");
    timing("hand-written", 5, || {
        fit(build(device), &mut SgdConfig::new().init(), &loaders(device), None)
    });
    timing("learner", 5, || learn(build(device), loaders(device), "run"));
    timing("learner.no-checkpoints", 5, || {
        metrics(training()).summary().launch(learner())
    });
    timing("learner.bare", 5, || {
        training().with_application_logger(None).launch(learner())
    });
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            hand_written(&device);
            by_learner(&device);
        }
        Some("brain-teaser") => brain_teaser(&device),
        Some("shuffled") => shuffled(&device),
        Some("cost") => cost(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
