//! From ten items to batches: transforms, shuffling, workers, errors.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::transform::{
    ComposedDataset, Mapper, MapperDataset, PartialDataset, SamplerDataset,
    SamplerDatasetOptions, SelectionDataset, WindowsDataset,
};
use burn::data::dataset::{Dataset, DatasetError};
use burn::prelude::*;
use burn::tensor::{DType, Distribution};
use lesson::{note, record, section, timing};

// --8<-- [start:dataset]
const ITEMS: usize = 10;
const FEATURES: usize = 3;
const BATCH: usize = 4;

// --8<-- [part:item]
#[derive(Clone, Debug)]
struct Sample {
    x: [f64; FEATURES],
    y: i64,
}

fn sample(k: usize) -> Sample {
    let x = std::array::from_fn(|j| (0.37 * k as f64 + 1.3 * j as f64).sin());
    Sample { x, y: k as i64 }
}

// --8<-- [part:]
#[derive(Clone)]
struct Waves;

impl Dataset<Sample> for Waves {
    // --8<-- [part:get]
    fn get(&self, k: usize) -> Result<Sample, DatasetError> {
        assert!(k < ITEMS, "there is no item {k}");
        Ok(sample(k))
    }

    // --8<-- [part:len]
    fn len(&self) -> usize {
        ITEMS
    }
}
// --8<-- [end:dataset]

// --8<-- [start:batcher]
// --8<-- [part:collate]
#[derive(Clone, Debug)]
struct Batch {
    x: Tensor<2>,
    y: Tensor<1, Int>,
}

struct Collate;

impl Batcher<Sample, Batch> for Collate {
    fn batch(&self, samples: Vec<Sample>, device: &Device) -> Batch {
        let n = samples.len();
        let x: Vec<f64> = samples.iter().flat_map(|s| s.x).collect();
        let y: Vec<i64> = samples.iter().map(|s| s.y).collect();
        Batch {
            x: Tensor::from_data(TensorData::new(x, [n, FEATURES]), device),
            y: Tensor::from_data(TensorData::new(y, [n]), device),
        }
    }
}

// --8<-- [part:loader]
type Loader = Arc<dyn DataLoader<Batch>>;

fn loader(dataset: impl Dataset<Sample> + 'static) -> Loader {
    DataLoaderBuilder::new(Collate).batch_size(BATCH).build(dataset)
}
// --8<-- [end:batcher]

// --8<-- [start:labels]
fn list(y: &Tensor<1, Int>) -> Vec<i64> {
    y.to_data().iter().collect()
}

/// The labels of each batch of one pass.
fn labels(batches: &Loader) -> Vec<Vec<i64>> {
    batches.iter().map(|batch| list(&batch.unwrap().y)).collect()
}

/// All labels of one pass, in the order of arrival.
fn epoch(batches: &Loader) -> Vec<i64> {
    labels(batches).concat()
}
// --8<-- [end:labels]

/// The labels of a dataset.
fn shown(dataset: &impl Dataset<Sample>) -> Vec<i64> {
    dataset.iter().map(|sample| sample.unwrap().y).collect()
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values
}

fn batches() {
    section("batches");
    // --8<-- [start:batches]
    let data = Arc::new(Waves);
    let batches = loader(data.clone());
    // --8<-- [part:lengths]
    println!("items in the dataset: {}", data.len());
    println!("num_items of the loader: {}", batches.num_items());
    // --8<-- [part:batches]
    for batch in batches.iter() {
        let batch = batch.unwrap();
        println!("{:?} {:?}", batch.x.dims(), list(&batch.y));
    }
    // --8<-- [part:full]
    let full: Vec<_> = batches
        .iter()
        .map(Result::unwrap)
        .filter(|batch| batch.x.dims()[0] == BATCH)
        .map(|batch| list(&batch.y))
        .collect();
    println!("full batches: {full:?}");
    // --8<-- [end:batches]

    let sizes: Vec<_> = labels(&batches).iter().map(Vec::len).collect();
    record("batches.sizes", sizes.as_slice());
    let count = full.len();
    record("batches.full", TensorData::new(full.concat(), [count, BATCH]));
    note("batches.count", [batches.iter().count()]);
    note("batches.num_items", [batches.num_items()]);
    for (i, batch) in batches.iter().enumerate() {
        let batch = batch.unwrap();
        record(&format!("batches.{i}.x"), batch.x.into_data());
        record(&format!("batches.{i}.y"), batch.y.into_data());
    }
}

fn types() {
    section("types");
    // --8<-- [start:types]
    let device = Device::flex();
    let (numbers, labels) = ([0.1_f64, 0.2], [3_i64, 1]);
    // --8<-- [part:float-tensor]
    let x = Tensor::<1>::from_data(numbers, &device);
    println!("f64 numbers: {:?}", x.dtype());
    // --8<-- [part:float]
    let wide = Tensor::<1>::from_data(numbers, (&device, DType::F64));
    println!("f64 numbers, F64 asked for: {:?}", wide.dtype());
    // --8<-- [part:kept]
    let y = Tensor::<1, Int>::from_data(labels, &device);
    println!("i64 labels: {:?}", y.dtype());
    // --8<-- [part:int]
    let long = Tensor::<1, Int>::from_data(labels, (&device, DType::I64));
    println!("i64 labels, I64 asked for: {:?}", long.dtype());
    // --8<-- [end:types]
    record("types.float64", wide.into_data());
    record("types.float32", x.into_data());
    record("types.labels", long.into_data());
    note("types.default_labels", y.into_data());
}

fn large_label() {
    section("large-label");
    let device = Device::flex();
    // --8<-- [start:large-label]
    let large = [3_000_000_000_i64];
    let y = Tensor::<1, Int>::from_data(large, (&device, DType::I64));
    println!("{:?} {}", y.dtype(), y.into_scalar::<i64>());
    let y = Tensor::<1, Int>::from_data(large, &device);
    println!("{:?} {}", y.dtype(), y.into_scalar::<i64>());
    // --8<-- [end:large-label]
}

fn device() {
    section("device");
    // --8<-- [start:device]
    let training = Device::flex().autodiff();
    let batches = DataLoaderBuilder::new(Collate)
        .batch_size(BATCH)
        .set_device(training.clone())
        .build(Waves);
    let tracks = |batches: &Loader| {
        let batch = batches.iter().next().unwrap().unwrap();
        batch.x.device().is_autodiff()
    };
    println!("set_device, with autodiff: {}", tracks(&batches));
    let valid = batches.to_device(&training.inner());
    println!("moved to inner(): {}", tracks(&valid));
    println!("no device given: {}", tracks(&loader(Waves)));
    // --8<-- [end:device]
    note("device.set", [tracks(&batches)]);
    note("device.moved", [tracks(&valid)]);
    note("device.none", [tracks(&loader(Waves))]);
}

fn transforms() {
    section("transforms");
    // --8<-- [start:transforms]
    // --8<-- [part:range]
    let head = PartialDataset::new(Waves, 0, 6);
    println!("a range: {:?}", shown(&head));
    // --8<-- [part:selection]
    type Selection = SelectionDataset<Waves, Sample>;
    let picked = Selection::from_indices_checked(Waves, vec![7, 2, 2]);
    println!("a selection: {:?}", shown(&picked));
    // --8<-- [part:joined]
    let parts: Vec<Box<dyn Dataset<Sample>>> =
        vec![Box::new(head.clone()), Box::new(picked.clone())];
    let both = ComposedDataset::new(parts);
    println!("joined: {:?}", shown(&both));
    // --8<-- [part:split]
    let mixed = Selection::new_shuffled(Waves, 7);
    let (train, valid) = (mixed.slice(0, 8), mixed.slice(8, 10));
    println!("split: {:?} {:?}", shown(&train), shown(&valid));
    // --8<-- [end:transforms]

    section("mapper");
    // --8<-- [start:mapper]
    // --8<-- [part:map]
    /// The features in reverse order.
    struct Flip;

    impl Mapper<Sample, Sample> for Flip {
        fn map(&self, sample: &Sample) -> Sample {
            let mut flipped = sample.clone();
            flipped.x.reverse();
            flipped
        }
    }

    let flipped = MapperDataset::new(Waves, Flip);
    // --8<-- [part:window]
    let windows = WindowsDataset::new(Waves, 4);
    // --8<-- [part:]
    let [a, b, c] = sample(1).x;
    println!("flipped: {}", flipped.get(1).unwrap().x == [c, b, a]);
    let first: Vec<_> = windows.get(0).unwrap().iter().map(|s| s.y).collect();
    println!("windows: {} {first:?}", windows.len());
    // --8<-- [end:mapper]

    record("transforms.range", shown(&head).as_slice());
    record("transforms.selection", shown(&picked).as_slice());
    record("transforms.joined", shown(&both).as_slice());
    let together = sorted([shown(&train), shown(&valid)].concat());
    record("transforms.split.together", together.as_slice());
    record("transforms.split.sizes", [train.len(), valid.len()]);
    note("transforms.split.valid", shown(&valid).as_slice());
    let all = flipped.iter().map(Result::unwrap).collect();
    let all = Collate.batch(all, &Device::flex());
    record("transforms.flipped", all.x.into_data());
    let rows: Vec<i64> =
        windows.iter().flat_map(Result::unwrap).map(|s| s.y).collect();
    record("transforms.windows", TensorData::new(rows, [windows.len(), 4]));
    let past_the_end = PartialDataset::<_, Sample>::new(Waves, 6, 99);
    note("partial.past_the_end", [past_the_end.len()]);
}

fn sampling() {
    section("sampler");
    // --8<-- [start:sampler]
    // --8<-- [part:make]
    let options =
        || SamplerDatasetOptions::default().without_replacement().with_seed(7);
    let data = SamplerDataset::new(Waves, options().with_fixed_size(15));
    // --8<-- [part:draw]
    let drawn = epoch(&loader(data));
    // --8<-- [part:show]
    println!("drawn: {drawn:?}");
    let distinct = BTreeSet::from_iter(&drawn[..10]).len();
    println!("distinct in the first ten: {distinct}");
    // --8<-- [end:sampler]

    record("sampler.drawn", [drawn.len()]);
    let times = (0..ITEMS as i64)
        .map(|k| drawn.iter().filter(|&&y| y == k).count())
        .collect();
    record("sampler.times", sorted(times).as_slice());
    note("sampler.first", drawn.as_slice());
    note("sampler.first_distinct", [distinct]);
    type Sampler = SamplerDataset<Waves, Sample>;
    let data = Sampler::new(Waves, options().with_replacement());
    let read = || data.get(0).unwrap().y;
    let differs = (0..100).filter(|_| read() != read()).count();
    note("sampler.reread_differs", [differs]);
    let default = SamplerDatasetOptions::default();
    note("sampler.replaces_by_default", [default.replace_samples]);
}

fn shuffling() {
    section("shuffle");
    // --8<-- [start:shuffle]
    // --8<-- [part:loader]
    let shuffled = |seed, workers| {
        DataLoaderBuilder::new(Collate)
            .batch_size(BATCH)
            .shuffle(seed)
            .num_workers(workers)
            .build(Waves)
    };
    // --8<-- [part:use]
    let batches = shuffled(7, 0);
    let (first, second) = (epoch(&batches), epoch(&batches));
    println!("epoch 1: {first:?}");
    println!("epoch 2: {second:?}");
    println!("same seed again: {}", epoch(&shuffled(7, 0)) == first);
    // --8<-- [end:shuffle]

    section("global-seed");
    // --8<-- [start:global-seed]
    let order = |draw: bool| {
        let device = Device::flex();
        device.seed(7);
        if draw {
            // such as weights or dropout
            Tensor::<1>::random([3], Distribution::Default, &device);
        }
        epoch(&shuffled(7, 0))
    };
    let same = order(false) == order(true);
    println!("a draw in between, same order: {same}");
    // --8<-- [end:global-seed]

    record("shuffle.first.items", sorted(first.clone()).as_slice());
    record("shuffle.second.items", sorted(second.clone()).as_slice());
    record("shuffle.epochs_differ", [first != second]);
    record("shuffle.same_seed", [epoch(&shuffled(7, 0)) == first]);
    record("shuffle.other_seed", [epoch(&shuffled(8, 0)) == first]);
    note("shuffle.first", first.as_slice());
    note("shuffle.second", second.as_slice());
    note("shuffle.same_despite_draw", [same]);
    let one = shuffled(7, 1);
    let with_worker = epoch(&one);
    note("shuffle.same_with_workers", [with_worker == first]);
    note("shuffle.with_workers", with_worker.as_slice());
    // without workers a moved loader's generator forks, with workers the seed
    // is kept
    let moved = |workers| {
        let kept = epoch(&shuffled(7, workers));
        epoch(&shuffled(7, workers).to_device(&Device::flex())) == kept
    };
    note("shuffle.same_after_to_device", [moved(0)]);
    note("shuffle.same_after_to_device_with_worker", [moved(1)]);
}

// --8<-- [start:workers]
// --8<-- [part:workers]
fn with_workers(n: usize, data: impl Dataset<Sample> + 'static) -> Loader {
    DataLoaderBuilder::new(Collate).batch_size(BATCH).num_workers(n).build(data)
}

// --8<-- [part:slow]
struct SlowStart;

impl Dataset<Sample> for SlowStart {
    fn get(&self, k: usize) -> Result<Sample, DatasetError> {
        if k == 0 {
            thread::sleep(Duration::from_millis(50));
        }
        Waves.get(k)
    }

    fn len(&self) -> usize {
        ITEMS
    }
}
// --8<-- [end:workers]

fn arrival() {
    section("arrival");
    // --8<-- [start:arrival]
    for n in [0, 2] {
        let arrived = labels(&with_workers(n, SlowStart));
        println!("{n} workers: {arrived:?}");
    }
    // --8<-- [end:arrival]
    let first = |n| labels(&with_workers(n, SlowStart))[0][0];
    note("arrival.first", [first(0), first(2)]);
    let plain = with_workers(2, Waves);
    let mut by_number: Vec<_> = plain.iter().map(Result::unwrap).collect();
    by_number.sort_by_key(|batch| list(&batch.y)[0]);
    for (i, batch) in by_number.into_iter().enumerate() {
        record(&format!("workers.{i}.x"), batch.x.into_data());
        record(&format!("workers.{i}.y"), batch.y.into_data());
    }
}

// --8<-- [start:mix]
/// Over 100 epochs: pairs that met in a batch, items of short batches.
fn mix(loader: impl Fn(u64) -> Loader, batch_size: usize) -> (usize, usize) {
    let (mut met, mut last) = (BTreeSet::new(), BTreeSet::new());
    for epoch in 0..100 {
        for y in labels(&loader(epoch)).into_iter().map(sorted) {
            for (i, &a) in y.iter().enumerate() {
                met.extend(y[i + 1..].iter().map(|&b| (a, b)));
            }
            if y.len() < batch_size {
                last.extend(y);
            }
        }
    }
    (met.len(), last.len())
}
// --8<-- [end:mix]

fn mixing() {
    section("mixing");
    // --8<-- [start:mixing]
    // --8<-- [part:loader]
    let shuffled = |seed, items, batch_size, n| {
        DataLoaderBuilder::new(Collate)
            .batch_size(batch_size)
            .shuffle(seed)
            .num_workers(n)
            .build(PartialDataset::new(Waves, 0, items))
    };
    // --8<-- [part:mixed]
    let mixed = |n| {
        let (even, uneven) = (shuffled(7, 8, 2, n), shuffled(7, 10, 4, n));
        let (met, _) = mix(|_| even.clone(), 2);
        let (_, last) = mix(|_| uneven.clone(), 4);
        (met, last)
    };
    // --8<-- [part:print]
    let results = [0, 2].map(|n| (n, mixed(n)));
    for (n, (met, last)) in results {
        println!(
            "{n} workers: {met} pairs met, {last} items in the short batch"
        );
    }
    // --8<-- [end:mixing]
    for (n, (met, last)) in results {
        note(&format!("mixing.{n}.met"), [met]);
        note(&format!("mixing.{n}.last"), [last]);
    }

    section("remedies");
    // --8<-- [start:remedies]
    // a new loader for every epoch, with a seed of its own
    let (met, _) = mix(|epoch| shuffled(epoch, 8, 2, 2), 2);
    let (_, last) = mix(|epoch| shuffled(epoch, 10, 4, 2), 4);
    println!("new loaders: {met} pairs met, {last} items in the short batch");
    // --8<-- [end:remedies]
    note("mixing.new", [met, last]);

    section("dealing");
    // --8<-- [start:dealing]
    // no shuffle: the dataset itself deals its items out, to both workers
    let dealt = |items| {
        SamplerDataset::new(
            PartialDataset::new(Waves, 0, items),
            SamplerDatasetOptions::default().without_replacement().with_seed(7),
        )
    };
    let builder = || DataLoaderBuilder::new(Collate).num_workers(2);
    let even = builder().batch_size(2).build(dealt(8));
    let uneven = builder().batch_size(4).build(dealt(10));
    let (met, _) = mix(|_| even.clone(), 2);
    let (_, last) = mix(|_| uneven.clone(), 4);
    println!("dealt out: {met} pairs met, {last} items in the short batch");
    println!("an epoch: {:?}", sorted(epoch(&even)));
    // --8<-- [end:dealing]
    note("mixing.dealt", [met, last]);
    note("mixing.dealt.epoch", sorted(epoch(&even)).as_slice());
}

// --8<-- [start:torn]
/// Item 5 can't be read.
struct Torn;

impl Dataset<Sample> for Torn {
    fn get(&self, k: usize) -> Result<Sample, DatasetError> {
        if k == 5 {
            let error = io::Error::other(format!("item {k} is torn"));
            return Err(DatasetError::new(error));
        }
        Waves.get(k)
    }

    fn len(&self) -> usize {
        ITEMS
    }
}
// --8<-- [end:torn]

fn unreadable() {
    section("errors");
    // --8<-- [start:errors]
    let torn = loader(Torn);
    let mut batches = torn.iter();
    for _ in 0..5 {
        match batches.next() {
            Some(Ok(batch)) => println!("batch {:?}", list(&batch.y)),
            Some(Err(error)) => println!("error: {error}"),
            None => {
                println!("end");
                break;
            }
        }
    }
    // --8<-- [end:errors]

    section("errors-with-workers");
    // --8<-- [start:errors-with-workers]
    let mut lines: Vec<String> = with_workers(2, Torn)
        .iter()
        .map(|batch| match batch {
            Ok(batch) => format!("batch {:?}", list(&batch.y)),
            Err(error) => format!("error: {error}"),
        })
        .collect();
    lines.sort(); // the order of arrival is left to chance
    println!("{}", lines.join("\n"));
    // --8<-- [end:errors-with-workers]

    for n in [0, 2] {
        let (mut good, mut bad) = (0, 0);
        for batch in with_workers(n, Torn).iter().take(1000) {
            *(if batch.is_ok() { &mut good } else { &mut bad }) += 1;
        }
        note(&format!("errors.{n}"), [good, bad]);
    }
    // one worker has all three batches, the second of which is torn
    let one = with_workers(1, Torn);
    let outcome: Vec<_> = one.iter().map(|batch| batch.is_ok()).collect();
    note("errors.one_worker", outcome.as_slice());
}

fn broken_batcher() {
    // --8<-- [start:broken-batcher]
    struct Broken;

    impl Batcher<Sample, Batch> for Broken {
        fn batch(&self, samples: Vec<Sample>, device: &Device) -> Batch {
            assert!(samples.iter().all(|s| s.y != 5), "label 5 has no class");
            Collate.batch(samples, device)
        }
    }

    section("broken-batcher");
    let batches = DataLoaderBuilder::new(Broken)
        .batch_size(BATCH)
        .num_workers(2)
        .build(Waves);
    for epoch in [1, 2] {
        let mut seen = 0;
        for batch in batches.iter() {
            seen += batch.unwrap().x.dims()[0];
        }
        println!("epoch {epoch} ended after {seen} items");
        // lets the thread that panicked come to its end
        thread::sleep(Duration::from_millis(50));
    }
    // --8<-- [end:broken-batcher]
}

fn cost() {
    let kept = with_workers(2, Waves);
    labels(&kept);
    timing("none", 20, || labels(&loader(Waves)));
    timing("kept", 20, || labels(&kept));
    timing("new", 5, || labels(&with_workers(2, Waves)));
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        None => {
            batches();
            types();
            device();
            transforms();
            sampling();
            shuffling();
            arrival();
            mixing();
            unreadable();
        }
        Some("large-label") => large_label(),
        Some("broken-batcher") => broken_batcher(),
        Some("cost") => cost(),
        Some(other) => panic!("no run named {other}"),
    }
}
