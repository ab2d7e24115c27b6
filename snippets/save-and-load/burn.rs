//! One small network into files and out of them, burn's own and PyTorch's.
//!
//! Run in this folder, it writes the files in `from_burn/` anew, which the
//! PyTorch program reads.

use std::fs;
use std::path::PathBuf;

use burn::module::{Param, RunningState};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::prelude::*;
use burn::store::burn_pack::{
    HEADER_SIZE, Header, Reader, aligned_data_section_start,
};
use burn::store::{
    BurnToPyTorchAdapter, BurnpackStore, FloatCastAdapter, ModuleAdapter,
    ModuleSnapshot, ModuleStore, PyTorchToBurnAdapter, PytorchStore,
    SafetensorsStore,
};
use burn::tensor::DType;
use burn::tensor::activation::relu;
use lesson::{note, record, section};

// --8<-- [start:model]
#[derive(Module, Debug)]
struct Net {
    fc1: Linear,
    norm: BatchNorm,
    fc2: Linear,
}

impl Net {
    fn new(device: &Device) -> Self {
        Net {
            fc1: LinearConfig::new(4, 8).init(device),
            norm: BatchNormConfig::new(8).init(device),
            fc2: LinearConfig::new(8, 3).init(device),
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let x = self.norm.forward(self.fc1.forward(x));
        self.fc2.forward(relu(x))
    }
}

// --8<-- [end:model]

// --8<-- [start:values]
// --8<-- [part:formula]
/// f(100 k) / 2, f(100 k + 1) / 2, … in f64, rounded once.
fn wave<const D: usize>(
    f: impl Fn(f64) -> f64,
    k: usize,
    shape: [usize; D],
) -> Tensor<D> {
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|i: usize| (f((100 * k + i) as f64) / 2.0) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

// --8<-- [part:values]
/// f is the sine; the cosine makes a second network.
fn build(f: fn(f64) -> f64) -> Net {
    let mut net = Net::new(&Device::flex());
    for (linear, k) in [(&mut net.fc1, 0), (&mut net.fc2, 7)] {
        let [d_in, d_out] = linear.weight.dims();
        let weight = wave(f, k, [d_out, d_in]).transpose();
        linear.weight = Param::from_tensor(weight);
        linear.bias = Some(Param::from_tensor(wave(f, k + 1, [d_out])));
    }
    net.norm.gamma = Param::from_tensor(wave(f, 2, [8]));
    net.norm.beta = Param::from_tensor(wave(f, 3, [8]));
    net.norm.running_mean = RunningState::new(wave(f, 4, [8]));
    let variance = wave(|i| f(i) + 2.0, 5, [8]);
    net.norm.running_var = RunningState::new(variance);
    net
}
// --8<-- [end:values]

/// A file that PyTorch wrote.
fn given(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("from_pytorch").join(name)
}

/// A file for PyTorch.
fn out(name: &str) -> PathBuf {
    fs::create_dir_all("from_burn").unwrap();
    PathBuf::from("from_burn").join(name)
}

/// What PyTorch keeps as [[1, 2], [3, 4]].
fn small() -> Linear {
    let mut linear = LinearConfig::new(2, 2).init(&Device::flex());
    let weight = [[1.0, 3.0], [2.0, 4.0]];
    linear.weight = Param::from_data(weight, &Device::flex());
    linear.bias = Some(Param::from_data([0.0, 0.0], &Device::flex()));
    linear
}

fn batch() -> Tensor<2> {
    wave(|i| (0.37 * i).sin(), 0, [5, 4])
}

/// FNV-1a, 64 bits, as a signed integer.
fn fingerprint(data: &[u8]) -> [i64; 1] {
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    [hash as i64]
}

fn own(device: &Device) -> Net {
    let net = build(f64::sin);
    section("names");
    // --8<-- [start:names]
    for tensor in net.collect(None, None, false) {
        let dtype = format!("{:?}", tensor.dtype);
        println!("{:<24} {dtype:<8} {:?}", tensor.name, tensor.shape.to_vec());
    }
    // --8<-- [end:names]

    section("own");
    // --8<-- [start:own]
    // --8<-- [part:save]
    net.clone().save_file("model.bpk").unwrap();

    // --8<-- [part:load]
    let again = Net::new(device).load_file("model.bpk");
    println!("same ids: {}", again.fc1.weight.id == net.fc1.weight.id);
    // --8<-- [end:own]
    let x = batch();
    record("x", x.to_data());
    record("own.logits", net.forward(x.clone()).into_data());
    note("own.again", again.forward(x.clone()).into_data());
    let tensors = |net: &Net| -> Vec<Vec<u8>> {
        let all = net.collect(None, None, false);
        all.iter().map(|t| t.to_bytes().unwrap().to_vec()).collect()
    };
    note("own.same_tensors", [tensors(&again) == tensors(&net)]);

    // The same numbers, no longer as a view of a transposed tensor.
    let mut plain = build(f64::sin);
    for linear in [&mut plain.fc1, &mut plain.fc2] {
        let weight = linear.weight.val().into_data();
        linear.weight = Param::from_data(weight, device);
    }
    note("own.contiguous", plain.forward(x).into_data());
    for tensor in net.collect(None, Some(Box::new(BurnToPyTorchAdapter)), false)
    {
        let bytes = tensor.to_bytes().unwrap();
        let shape = tensor.shape.to_vec();
        let data = TensorData::from_bytes(bytes, shape, tensor.dtype);
        record(&format!("tensor.{}", tensor.name), data);
    }

    // --8<-- [start:safetensors]
    let mut store = SafetensorsStore::from_file("model.safetensors")
        .with_to_adapter(BurnToPyTorchAdapter)
        .overwrite(true);
    net.save_into(&mut store).unwrap();
    // --8<-- [end:safetensors]
    net
}

fn inside(net: &Net) {
    section("inside");
    // --8<-- [start:inside]
    let data = fs::read("model.bpk").unwrap();
    let header = Header::from_bytes(&data[..HEADER_SIZE]).unwrap();
    let metadata = header.metadata_size as usize;
    let start = aligned_data_section_start(metadata);
    let magic = String::from_utf8_lossy(&data[..4]);
    println!("model.bpk: {magic}, version {}", header.version);
    println!("  header {HEADER_SIZE}, metadata {metadata}, data at {start}");
    let reader = Reader::from_file("model.bpk").unwrap();
    for name in ["fc1.weight", "fc1.bias"] {
        let bytes = reader.tensor_data(name).unwrap();
        let at = data.windows(bytes.len()).position(|w| w == bytes);
        println!("  {name} at {}, {} bytes", at.unwrap(), bytes.len());
    }
    // --8<-- [end:inside]
    note("bpk.size", [data.len()]);
    note("bpk.metadata", [metadata]);
    note("bpk.start", [start]);
    let (mut starts, mut lengths) = (Vec::new(), Vec::new());
    for tensor in net.collect(None, None, false) {
        let bytes = reader.tensor_data(&tensor.name).unwrap();
        let at = data.windows(bytes.len()).position(|w| w == bytes);
        starts.push(at.unwrap() as i64);
        lengths.push(bytes.len() as i64);
    }
    note("bpk.starts", starts.as_slice());
    note("bpk.lengths", lengths.as_slice());
    let data = fs::read("model.safetensors").unwrap();
    let length = u64::from_le_bytes(data[..8].try_into().unwrap()) as usize;
    note("safetensors.size", [data.len()]);
    note("safetensors.header", [length]);
    record("safetensors.floats", fingerprint(&data[8 + length..]));
    record("safetensors.float_bytes", [data.len() - 8 - length]);

    // The same network into memory, over and over: how many different files?
    let once = || {
        let mut store = SafetensorsStore::from_bytes(None);
        net.save_into(&mut store).unwrap();
        store.get_bytes().unwrap()
    };
    let first = once();
    note("safetensors.varies", [(0..40).any(|_| once() != first)]);
    let pack = || net.clone().into_record().into_bytes().unwrap();
    let first = pack();
    note("bpk.varies", [(0..40).any(|_| *pack() != *first)]);
}

fn from_pytorch(device: &Device) {
    section("from_pytorch");
    // --8<-- [start:from_pytorch]
    let mut pt = Net::new(device);
    let mut store = PytorchStore::from_file(given("model.pt"));
    let result = pt.load_from(&mut store).unwrap();
    println!("{} tensors, not used: {:?}", result.applied.len(), result.unused);

    let mut st = Net::new(device);
    let mut store = SafetensorsStore::from_file(given("model.safetensors"))
        .with_from_adapter(PyTorchToBurnAdapter);
    let result = st.load_from(&mut store).unwrap();
    println!("{} tensors, not used: {:?}", result.applied.len(), result.unused);
    // --8<-- [end:from_pytorch]
    note("from_pytorch.pt", pt.forward(batch()).into_data());
    note("from_pytorch.safetensors", st.forward(batch()).into_data());
    let id = pt.fc1.weight.id;
    pt.load_from(&mut PytorchStore::from_file(given("model.pt"))).unwrap();
    note("from_pytorch.keeps_id", [pt.fc1.weight.id == id]);
}

fn unadapted(device: &Device) {
    section("unadapted");
    // --8<-- [start:unadapted]
    let mut store = SafetensorsStore::from_file(given("model.safetensors"))
        .validate(false)
        .allow_partial(true);
    let result = Net::new(device).load_from(&mut store);
    let result = result.unwrap();
    for error in &result.errors {
        println!("{error}");
    }
    for (name, _) in &result.missing {
        println!("Missing: {name}");
    }
    // --8<-- [end:unadapted]
}

fn nested(device: &Device) {
    section("nested");
    // --8<-- [start:nested]
    // --8<-- [part:key]
    let mut store = PytorchStore::from_file(given("checkpoint.pt"))
        .with_top_level_key("model")
        // --8<-- [part:rename]
        .with_key_remapping(r"^module\.", "");
    // --8<-- [part:load]
    let mut again = Net::new(device);
    let result = again.load_from(&mut store).unwrap();
    println!("{} tensors, not used: {:?}", result.applied.len(), result.unused);
    // --8<-- [end:nested]
    record("nested.logits", again.forward(batch()).into_data());

    section("rootless");
    let mut store = PytorchStore::from_file(given("checkpoint.pt"));
    let refused = Net::new(device).load_from(&mut store).is_err();
    note("rootless.refused", [refused]);
    // --8<-- [start:rootless]
    let mut store =
        PytorchStore::from_file(given("checkpoint.pt")).allow_partial(true);
    let result = Net::new(device).load_from(&mut store).unwrap();
    println!("loaded {}", result.applied.len());
    println!("missing {}", result.missing.len());
    println!("not used {}, such as {}", result.unused.len(), result.unused[0]);
    // --8<-- [end:rootless]
    note("rootless.applied", [result.applied.len()]);
    note("rootless.missing", [result.missing.len()]);
    note("rootless.unused", [result.unused.len()]);
}

// --8<-- [start:sequential]
#[derive(Module, Debug)]
struct Layers {
    layers: Vec<Linear>,
}
// --8<-- [end:sequential]

fn sequential(device: &Device) {
    let new = || Layers {
        layers: [[4, 8], [8, 3]]
            .map(|[d_in, d_out]| LinearConfig::new(d_in, d_out).init(device))
            .into(),
    };
    section("renumbered");
    // --8<-- [start:renumbered]
    let mut store = PytorchStore::from_file(given("sequential.pt"));
    println!(".pt: {:?}", store.keys().unwrap());
    let mut net = new();
    net.load_from(&mut store).unwrap();

    let file = given("sequential.safetensors");
    let mut store = SafetensorsStore::from_file(&file)
        .with_from_adapter(PyTorchToBurnAdapter);
    println!(".safetensors: {:?}", store.keys().unwrap());
    println!("loads: {}", new().load_from(&mut store).is_ok());

    let mut store = store.map_indices_contiguous(true);
    println!("renumbered: {}", new().load_from(&mut store).is_ok());
    // --8<-- [end:renumbered]
    let hidden = relu(net.layers[0].forward(batch()));
    record("sequential.logits", net.layers[1].forward(hidden).into_data());
}

fn to_pytorch() {
    let net = build(f64::cos);
    // --8<-- [start:to_pytorch]
    let mut store = SafetensorsStore::from_file(out("model.safetensors"))
        .with_to_adapter(BurnToPyTorchAdapter)
        .overwrite(true);
    net.save_into(&mut store).unwrap();
    // --8<-- [end:to_pytorch]
    record("from_burn.logits", net.forward(batch()).into_data());
    let data = fs::read(out("model.safetensors")).unwrap();
    let length = u64::from_le_bytes(data[..8].try_into().unwrap()) as usize;
    record("from_burn.data", fingerprint(&data[8 + length..]));

    let mut store =
        SafetensorsStore::from_file(out("square.safetensors")).overwrite(true);
    small().save_into(&mut store).unwrap();

    let mut store = SafetensorsStore::from_file(out("square.safetensors"));
    let refuses = small().save_into(&mut store).is_err();
    note("replace.store_refuses", [refuses]);
    small().save_file("small.bpk").unwrap();
    let writes = small().save_file("small.bpk").is_ok();
    note("replace.save_file_writes", [writes]);
    let refuses = small().save_into(&mut PytorchStore::from_file("small.pt"));
    note("replace.pt_refuses", [refuses.is_err()]);
}

fn strict(device: &Device) {
    let linear =
        |d_out, bias| LinearConfig::new(3, d_out).with_bias(bias).init(device);
    let mut outcomes = Vec::new();
    // --8<-- [start:strict]
    // --8<-- [part:cases]
    let cases = [
        ("missing", linear(2, false), linear(2, true)),
        ("unexpected", linear(2, true), linear(2, false)),
        ("shape", linear(4, true), linear(2, true)),
    ];
    // --8<-- [part:try]
    for (name, saved, target) in cases {
        let file = format!("{name}.bpk");
        saved.save_file(&file).unwrap();
        let loads = target.clone().try_load_file(&file).is_ok();
        outcomes.push((name, "load_file", loads));
        let stores = [
            ("store", BurnpackStore::from_file(&file)),
            ("partial", BurnpackStore::from_file(&file).allow_partial(true)),
            ("unchecked", BurnpackStore::from_file(&file).validate(false)),
        ];
        for (how, mut store) in stores {
            let loads = target.clone().load_from(&mut store).is_ok();
            outcomes.push((name, how, loads));
        }
    }
    // --8<-- [end:strict]
    for (name, how, loads) in outcomes {
        note(&format!("strict.{name}.{how}"), [loads]);
    }

    let mut target = linear(2, true);
    let before = target.weight.val().into_data();
    let mut store = BurnpackStore::from_file("shape.bpk").validate(false);
    let result = target.load_from(&mut store).unwrap();
    note("unchecked.errors", [result.errors.len()]);
    note("unchecked.kept", [target.weight.val().into_data() == before]);
}

fn half_loaded(device: &Device) {
    section("half");
    let mut weight_only = LinearConfig::new(3, 2).with_bias(false).init(device);
    weight_only.weight = Param::from_tensor(Tensor::full([3, 2], 5.0, device));
    weight_only.save_file("half.bpk").unwrap();
    // --8<-- [start:half]
    // --8<-- [part:try]
    let mut target = LinearConfig::new(3, 2).init(device);
    let mut store = BurnpackStore::from_file("half.bpk"); // no bias in it
    if let Err(error) = target.load_from(&mut store) {
        println!("{error}");
    }

    // --8<-- [part:look]
    let weight = target.weight.val().transpose().into_data();
    println!("weight: {:?}", weight.as_slice::<f32>().unwrap());
    // --8<-- [end:half]
    record("half.weight", weight);
}

fn copies(device: &Device) {
    section("copies");
    // --8<-- [start:copies]
    // --8<-- [part:copy]
    let original = build(f64::cos);
    let before = original.norm.running_mean.value().into_data();
    let weight = original.fc1.weight.val().into_data();
    let copied = original.clone().load_file("model.bpk");

    // --8<-- [part:look]
    let after = original.norm.running_mean.value().into_data();
    let kept = original.fc1.weight.val().into_data() == weight;
    println!("weight kept: {kept}");
    println!("running mean kept: {}", after == before);
    // --8<-- [end:copies]
    note("copies.weight_kept", [kept]);
    note("copies.mean_kept", [after == before]);
    note("copies.mean", after);
    note("copies.copied_mean", copied.norm.running_mean.value().into_data());

    let original = build(f64::cos);
    let _fresh = Net::new(device).load_file("model.bpk");
    let after = original.norm.running_mean.value().into_data();
    note("copies.fresh_keeps", [after == before]);

    let device = Device::flex().autodiff();
    let norm = BatchNormConfig::new(8).init(&device);
    let before = norm.running_mean.value_sync().into_data();
    norm.clone().forward(Tensor::<2>::ones([2, 8], &device));
    let after = norm.running_mean.value_sync().into_data();
    note("copies.training_reaches", [after != before]);
}

fn statistics(device: &Device) {
    section("statistics");
    let saved_mean = |net: &Net, file| {
        net.clone().save_file(file).unwrap();
        let loaded = Net::new(device).load_file(file);
        loaded.norm.running_mean.value().into_data()
    };
    // --8<-- [start:statistics]
    // --8<-- [part:forward]
    let training = Device::flex().autodiff();
    let net = build(f64::cos).train();
    let before = net.norm.running_mean.value().into_data();
    net.forward(Tensor::from_data(batch().into_data(), &training));

    // --8<-- [part:saved]
    let early = saved_mean(&net, "early.bpk");
    println!("saved at once, as before: {}", early == before);
    net.valid(); // takes the pending update in
    let late = saved_mean(&net, "late.bpk");
    println!("after valid(), as before: {}", late == before);
    // --8<-- [end:statistics]
    note("statistics.before", before);
    note("statistics.early", early);
    record("statistics.mean", late);

    // A pending update, then a load: which of the two does valid() see?
    let net = build(f64::cos).train();
    net.forward(Tensor::from_data(batch().into_data(), &training));
    let net = net.load_file("model.bpk");
    note("statistics.file", net.norm.running_mean.value().into_data());
    note(
        "statistics.pending",
        net.valid().norm.running_mean.value().into_data(),
    );
}

fn dtype(device: &Device) {
    section("dtype");
    // --8<-- [start:dtype]
    let new = || LinearConfig::new(2, 2).init(device);
    let mut store = SafetensorsStore::from_file(given("double.safetensors"))
        .with_from_adapter(
            PyTorchToBurnAdapter.chain(FloatCastAdapter::to(DType::F32)),
        );
    let mut linear = new();
    linear.load_from(&mut store).unwrap();
    println!(".safetensors: {:?}", linear.weight.val().dtype());

    let mut kept = new();
    kept.load_from(&mut PytorchStore::from_file(given("double.pt"))).unwrap();
    let values = kept.into_record().cast_to_module_dtype();
    let cast = new().load_record(values);
    println!(".pt: {:?}", cast.weight.val().dtype());
    // --8<-- [end:dtype]
    record("dtype.weight", linear.weight.val().transpose().into_data());
    note("dtype.record", cast.weight.val().transpose().into_data());
}

fn files() {
    let mut paths: Vec<PathBuf> = fs::read_dir(given(""))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        record(&format!("file.{name}"), fingerprint(&fs::read(&path).unwrap()));
    }
}

fn square(device: &Device) {
    section("square");
    // --8<-- [start:square]
    // --8<-- [part:saved]
    let x = Tensor::<1>::from_data([1.0, 0.0], device);
    let saved = small().forward(x.clone()).into_data();
    println!("saved:  {:?}", saved.as_slice::<f32>().unwrap());

    // --8<-- [part:loaded]
    let mut linear = LinearConfig::new(2, 2).init(device);
    let mut store = SafetensorsStore::from_file(given("square.safetensors"));
    println!("{:?}", linear.load_from(&mut store).unwrap().applied);
    let loaded = linear.forward(x).into_data();
    println!("loaded: {:?}", loaded.as_slice::<f32>().unwrap());
    // --8<-- [end:square]
    record("square.saved", saved);
    record("square.loaded", loaded);
}

fn double(device: &Device) {
    section("double");
    // --8<-- [start:double]
    let mut linear = LinearConfig::new(2, 2).init(device);
    let mut store = PytorchStore::from_file(given("double.pt"));
    linear.load_from(&mut store).unwrap();
    println!("loaded as {:?}", linear.weight.val().dtype());
    let x = Tensor::<2>::from_data([[1.0, 0.0]], device);
    println!("{}", linear.forward(x));
    // --8<-- [end:double]
}

fn main() {
    let device = Device::flex();
    match std::env::args().nth(1).as_deref() {
        None => {
            let net = own(&device);
            inside(&net);
            from_pytorch(&device);
            unadapted(&device);
            nested(&device);
            sequential(&device);
            to_pytorch();
            strict(&device);
            half_loaded(&device);
            copies(&device);
            statistics(&device);
            dtype(&device);
            files();
        }
        Some("square") => square(&device),
        Some("double") => double(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
