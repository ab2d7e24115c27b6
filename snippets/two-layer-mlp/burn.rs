//! A model of two linear layers: built, printed, counted, filled by formula; and how its parameters are drawn.

use burn::module::{ModuleVisitor, Param};
use burn::nn::attention::MultiHeadAttentionConfig;
use burn::nn::conv::Conv2dConfig;
use burn::nn::gru::GruConfig;
use burn::nn::{
    EmbeddingConfig, Initializer, Linear, LinearConfig, LinearLayout,
    LstmConfig,
};
use burn::prelude::*;
use burn::tensor::Distribution;
use burn::tensor::activation::relu;
use lesson::{note, record, section};

// --8<-- [start:model]
// --8<-- [part:arguments]
#[derive(Config, Debug)]
struct MlpConfig {
    features: usize,
    classes: usize,
    #[config(default = 8)]
    hidden: usize,
}

// --8<-- [part:layers]
#[derive(Module, Debug)]
struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

impl MlpConfig {
    fn init(&self, device: &Device) -> Mlp {
        let MlpConfig { features, classes, hidden } = *self;
        Mlp {
            fc1: LinearConfig::new(features, hidden).init(device),
            fc2: LinearConfig::new(hidden, classes).init(device),
        }
    }
}

// --8<-- [part:forward]
impl Mlp {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(relu(self.fc1.forward(x)))
    }
}
// --8<-- [end:model]

// --8<-- [start:visitor]
type Parameters = Vec<(String, TensorData)>;

/// Every parameter with its name, in the order of the fields.
#[derive(Default)]
struct Named {
    path: Vec<String>,
    found: Parameters,
}

impl ModuleVisitor for Named {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let data = param.val().into_data();
        self.found.push((self.path.join("."), data));
    }
}

fn named_parameters(module: &impl Module) -> Parameters {
    let mut visitor = Named::default();
    module.visit(&mut visitor);
    visitor.found
}
// --8<-- [end:visitor]

fn print(device: &Device) {
    section("print");
    // --8<-- [start:print]
    let config = MlpConfig::new(4, 3);
    let model = config.init(device);
    println!("{model}");
    // --8<-- [end:print]
    section("count");
    // --8<-- [start:count]
    println!("{} parameters", model.num_params());
    for (name, data) in named_parameters(&model) {
        println!("{name} {:?}", data.shape().as_slice());
    }
    // --8<-- [end:count]
    section("config");
    // --8<-- [start:config]
    println!("{config}");
    let wide = config.with_hidden(32).init(device);
    println!("hidden 32: {} parameters", wide.num_params());
    // --8<-- [end:config]
    record("parameters", [model.num_params()]);
    for (name, data) in named_parameters(&model) {
        let shape: Vec<i64> = data.shape().iter().map(|&n| n as i64).collect();
        note(&format!("shape.{name}"), shape.as_slice());
    }
}

// --8<-- [start:weights]
/// scale * f(1), scale * f(2), … computed in f64 and rounded once.
fn wave<const D: usize>(
    f: fn(f64) -> f64,
    scale: f64,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    let values = (1..=shape.iter().product())
        .map(|i| (scale * f(i as f64)) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

// --8<-- [part:fill]
fn fill(mut model: Mlp, device: &Device) -> Mlp {
    let (sin, cos) = (f64::sin, f64::cos);
    let weight = |w: Tensor<2>| Param::from_tensor(w.transpose());
    let bias = |b: Tensor<1>| Some(Param::from_tensor(b));
    model.fc1.weight = weight(wave(sin, 0.3, [8, 4], device));
    model.fc1.bias = bias(wave(cos, 0.1, [8], device));
    model.fc2.weight = weight(wave(cos, 0.7, [3, 8], device));
    model.fc2.bias = bias(wave(sin, 0.1, [3], device));
    model
}
// --8<-- [end:weights]

fn forward(device: &Device) {
    section("forward");
    // --8<-- [start:forward]
    let model = fill(MlpConfig::new(4, 3).init(device), device);
    // --8<-- [part:layers]
    let x = wave(f64::sin, 1.0, [16, 4], device);
    let hidden = relu(model.fc1.forward(x.clone()));
    let logits = model.fc2.forward(hidden.clone());
    let tensors = [("x", &x), ("hidden", &hidden), ("logits", &logits)];
    for (name, tensor) in tensors {
        println!("{name} {:?}", tensor.dims());
    }
    let row = logits.clone().slice(0..1).into_data();
    println!("first row {:.6?}", row.iter::<f32>().collect::<Vec<_>>());
    // --8<-- [part:backward]
    let loss = logits.clone().square().mean();
    let gradients = loss.backward();
    let slope = model.fc1.weight.grad(&gradients).unwrap();
    println!("gradient of fc1.weight {:?}", slope.dims());
    // --8<-- [end:forward]
    record("x", x.clone().into_data());
    record("hidden", hidden.into_data());
    record("logits", logits.clone().into_data());
    record("model(x)", model.forward(x.clone()).into_data());
    record("loss", loss.into_data());
    for (name, layer) in [("fc1", &model.fc1), ("fc2", &model.fc2)] {
        let bias = layer.bias.as_ref().unwrap();
        let slopes = layer.weight.grad(&gradients).unwrap().transpose();
        record(&format!("{name}.weight.grad"), slopes.into_data());
        let slopes = bias.grad(&gradients).unwrap();
        record(&format!("{name}.bias.grad"), slopes.into_data());
        let weight = layer.weight.val().transpose();
        record(&format!("{name}.weight"), weight.into_data());
        record(&format!("{name}.bias"), bias.val().into_data());
    }

    section("reductions");
    // --8<-- [start:reductions]
    println!("sum of all {:?}", logits.clone().sum().dims());
    println!("sum of each row {:?}", logits.clone().sum_dim(1).dims());
    // --8<-- [part:shift]
    let largest = logits.clone().max_dim(1);
    let shifted = logits.clone() - largest.clone();
    println!("largest {:?} shifted {:?}", largest.dims(), shifted.dims());
    // --8<-- [part:squeeze]
    let row: Tensor<1> = largest.squeeze_dim(1);
    println!("squeezed {:?}", row.dims());
    // --8<-- [end:reductions]
    record("shifted", shifted.into_data());
    record("largest", row.into_data());

    section("square");
    // --8<-- [start:square]
    let weight = wave(f64::sin, 0.3, [4, 4], device); // as PyTorch has it
    let layer =
        |weight| Linear { weight: Param::from_tensor(weight), bias: None };
    // --8<-- [part:right]
    let right = layer(weight.clone().transpose()).forward(x.clone());
    // --8<-- [part:wrong]
    let wrong = layer(weight.clone()).forward(x.clone());
    // --8<-- [part:]
    let rows =
        [right.clone(), wrong.clone()].map(|y| y.slice(0..1).into_data());
    for (name, row) in ["transposed", "as it is"].iter().zip(rows) {
        println!("{name} {:.4?}", row.iter::<f32>().collect::<Vec<_>>());
    }
    // --8<-- [end:square]
    record("square.right", right.into_data());
    record("square.wrong", wrong.into_data());
}

fn untransposed(device: &Device) {
    section("untransposed");
    // --8<-- [start:untransposed]
    let mut model = MlpConfig::new(4, 3).init(device);
    let weight = wave(f64::sin, 0.3, [8, 4], device); // PyTorch's layout
    model.fc1.weight = Param::from_tensor(weight);
    println!("assigned");
    model.forward(wave(f64::sin, 1.0, [16, 4], device));
    // --8<-- [end:untransposed]
}

// --8<-- [start:moments]
/// The largest |x|, the standard deviation and the kurtosis.
fn moments(data: &[TensorData]) -> [f64; 3] {
    let x: Vec<f64> = data.iter().flat_map(|d| d.iter::<f64>()).collect();
    let mean = |f: &dyn Fn(f64) -> f64| {
        x.iter().map(|&x| f(x)).sum::<f64>() / x.len() as f64
    };
    let middle = mean(&|x| x);
    let std = mean(&|x| (x - middle).powi(2)).sqrt();
    let kurtosis = mean(&|x| (x - middle).powi(4)) / std.powi(4);
    let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    [largest, std, if std > 0.0 { kurtosis } else { 0.0 }]
}
// --8<-- [end:moments]

/// Note the moments of all parameters whose name ends with `end`.
fn measure(name: &str, module: &impl Module, end: &str) -> [f64; 3] {
    let all = named_parameters(module).into_iter();
    let data: Vec<_> =
        all.filter(|(n, _)| n.ends_with(end)).map(|(_, d)| d).collect();
    let found = moments(&data);
    note(name, found.as_slice());
    found
}

fn defaults(device: &Device) {
    section("defaults");
    device.seed(0);
    // --8<-- [start:defaults]
    let layer = LinearConfig::new(64, 4096).init(device);
    for name in ["weight", "bias"] {
        let [largest, std, kurtosis] =
            measure(&format!("linear.{name}"), &layer, name);
        println!("{name}: largest {largest:.4}, std {std:.4}");
        println!("  kurtosis {kurtosis:.2}");
    }
    // --8<-- [end:defaults]

    section("column");
    // --8<-- [start:column]
    let layer =
        LinearConfig::new(64, 4096).with_layout(LinearLayout::Col).init(device);
    let [largest, ..] = measure("column.weight", &layer, "weight");
    println!("weight {:?}: largest {largest:.6}", layer.weight.dims());
    // --8<-- [end:column]
    measure("column.bias", &layer, "bias");

    // --8<-- [start:layers]
    // --8<-- [part:conv]
    let conv = Conv2dConfig::new([16, 1024], [3, 3]).init(device);
    // --8<-- [part:embedding]
    let embedding = EmbeddingConfig::new(1024, 64).init(device);
    // --8<-- [part:recurrent]
    let lstm = LstmConfig::new(64, 256, true).init(device);
    let gru = GruConfig::new(64, 256, true).init(device);
    // --8<-- [part:attention]
    let attention = MultiHeadAttentionConfig::new(256, 4).init(device);
    // --8<-- [end:layers]
    measure("conv2d.weight", &conv, "weight");
    measure("conv2d.bias", &conv, "bias");
    measure("embedding.weight", &embedding, "weight");
    measure("lstm.weight", &lstm, "input_transform.weight");
    measure("lstm.bias", &lstm, "input_transform.bias");
    measure("gru.weight", &gru, "input_transform.weight");
    measure("gru.bias", &gru, "input_transform.bias");
    measure("attention.weight", &attention.query, "weight");
    measure("attention.bias", &attention.query, "bias");
    record("lstm.parameters", [lstm.num_params()]);
    record("gru.parameters", [gru.num_params()]);
    record("attention.parameters", [attention.num_params()]);
}

fn recipes(device: &Device) {
    device.seed(1);
    // --8<-- [start:recipes]
    let linear = LinearConfig::new(64, 4096);
    // --8<-- [part:he]
    let gain = 2f64.sqrt(); // for ReLU
    let he = Initializer::KaimingNormal { gain, fan_out_only: false };
    let mut layer = linear.clone().with_initializer(he).init(device);
    layer.bias = Some(Initializer::Zeros.init([4096], device));
    // --8<-- [part:both]
    let normal = Initializer::Normal { mean: 0.0, std: 0.02 };
    let both = linear.with_initializer(normal).init(device);
    // --8<-- [part:lstm]
    let k = 1.0 / 256f64.sqrt();
    let uniform = Initializer::Uniform { min: -k, max: k };
    let lstm =
        LstmConfig::new(64, 256, true).with_initializer(uniform).init(device);
    // --8<-- [part:reverse]
    let own = LstmConfig::new(64, 256, true).init(device);
    // --8<-- [end:recipes]
    record("gain.relu", [gain]);
    record("gain.unset", [gain]);
    let default = LinearConfig::new(64, 4096).initializer;
    let Initializer::KaimingUniform { gain, .. } = default else {
        panic!("Linear draws by another formula: {default}");
    };
    record("gain.default", [gain]);
    for end in ["weight", "bias"] {
        measure(&format!("recipe.he.{end}"), &layer, end);
        measure(&format!("recipe.normal.{end}"), &both, end);
        let of_lstm = format!("input_transform.{end}");
        measure(&format!("recipe.lstm.{end}"), &lstm, &of_lstm);
        measure(&format!("recipe.reverse.{end}"), &own, &of_lstm);
    }
}

fn seeds(device: &Device) {
    section("streams");
    // --8<-- [start:streams]
    device.seed(0);
    let draws = Tensor::<1>::random([4], Distribution::Default, device);
    println!("{:.4?}", draws.to_data().iter::<f32>().collect::<Vec<_>>());
    // --8<-- [end:streams]
    note("stream", draws.into_data());

    section("lazy");
    // --8<-- [start:lazy]
    device.seed(3);
    let layer = LinearConfig::new(2, 2).init(device);
    println!("after init: {}", layer.weight.is_initialized());
    device.seed(99);
    let weight = layer.weight.val().into_data();
    println!("after val(): {}", layer.weight.is_initialized());
    // --8<-- [part:again]
    for seed in [3, 99] {
        device.seed(seed);
        let fresh = LinearConfig::new(2, 2).init(device).weight.val();
        println!("that of seed {seed}: {}", fresh.into_data() == weight);
    }
    // --8<-- [end:lazy]
    let of = |seed| {
        device.seed(seed);
        LinearConfig::new(2, 2).init(device).weight.val().into_data()
    };
    let [one, two] = [0, 0].map(|seed| {
        device.seed(seed);
        LinearConfig::new(2, 2).init(device)
    });
    let copy = one.clone();
    let [one, two, copy] = [one, two, copy].map(|l| l.weight.val().into_data());
    note("twins.seeded", [one == two]);
    note("twins.cloned", [one == copy]);

    device.seed(0);
    let record = fill(MlpConfig::new(4, 3).init(device), device).into_record();
    let loaded = MlpConfig::new(4, 3).init(device).load_record(record);
    let _ = loaded.forward(Tensor::ones([1, 4], device));
    let draws = Tensor::<1>::random([4], Distribution::Default, device);
    note("stream.after-load", draws.into_data());
    note("lazy.weight", weight);
    note("lazy.seed-3", of(3));
    note("lazy.seed-99", of(99));
}

// --8<-- [start:brain-teaser]
fn drawn(print: bool, device: &Device) -> Parameters {
    device.seed(0);
    let model = MlpConfig::new(4, 3).init(device);
    if print {
        println!("{model}");
    }
    model.forward(Tensor::ones([1, 4], device));
    named_parameters(&model)
}
// --8<-- [end:brain-teaser]

fn brain_teaser(device: &Device) {
    section("brain-teaser");
    let silent = drawn(false, device);
    let printed = drawn(true, device);
    for ((name, a), (_, b)) in silent.iter().zip(&printed) {
        println!("{name} the same: {}", a == b);
        note(&format!("silent.{name}"), a.clone());
        note(&format!("printed.{name}"), b.clone());
    }
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            print(&device);
            forward(&device);
            defaults(&device);
            recipes(&device);
            seeds(&device);
        }
        Some("untransposed") => untransposed(&device),
        Some("brain-teaser") => brain_teaser(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
