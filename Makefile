# Everything starts from a bare Debian 12 machine: `make demo` and `make test` set up, build and run.
BUILD ?= build
PYTHON = .venv/bin/python
DEMO = examples/transformer_block.mlir
DEMO_WEIGHTS = 0-11
DEMO_BUDGET ?= 20s
CORPUS ?= ../shared/corpus
CPP = $(shell git ls-files --cached --others --exclude-standard 'src/*.h' 'src/*.cc' 'tests/*.h' 'tests/*.cc' 'python/*.cc')

# Set-up is several targets, and one at a time writes .venv.
.NOTPARALLEL:

.PHONY: models labels tables-watched form-gains varied-kernels varied-model cross-layout cross-layout-many fixed-orders one-walk-policy known kernel-code code-model cold-model machine-kernels tables-perf-model tables-code-model tables-layout tables-pass-order operation-model operation-rows order-policy go-policy go-moves setup setup-bench setup-examples setup-models setup-test setup-train setup-gym setup-wheel setup-dev setup-fuzz fuzz sanitize build train-tools demo test wheel bench corpus examples reference lint tidy format clean

setup:
	@scripts/setup.sh

setup-examples:
	@scripts/setup.sh --examples

setup-models:
	@scripts/setup.sh --models

setup-test:
	@scripts/setup.sh --examples --test --train --gym --fleet --wheel --torch --onnx --tensorflow

setup-train:
	@scripts/setup.sh --train

setup-gym:
	@scripts/setup.sh --gym

setup-bench:
	@scripts/setup.sh --bench

setup-wheel:
	@scripts/setup.sh --wheel

setup-dev:
	@scripts/setup.sh --dev

setup-fuzz:
	@scripts/setup.sh --fuzz

CONFIGURE = @cmake -S . -B $(BUILD) -G Ninja $(if $(CMAKE_BUILD_TYPE),-DCMAKE_BUILD_TYPE=$(CMAKE_BUILD_TYPE))

# The product: no torch, no tests. Where train-tools or test configured the folder, libhone_learn.so is kept up to date, too.
build: setup
	$(CONFIGURE) >/dev/null
	@cmake --build $(BUILD) --target product

# libhone_learn.so beside the product: hone train, hone gym train, hone go train, and networks in place of trees.
train-tools: setup-train
	$(CONFIGURE) -DHONE_TRAIN=ON >/dev/null
	@cmake --build $(BUILD) --target product

# Tunes one example and prints the gain.
demo: build
	$(BUILD)/hone tune $(DEMO) --weights $(DEMO_WEIGHTS) --threads 1 --budget $(DEMO_BUDGET) --seed 0 --db $(BUILD)/demo.db -o $(BUILD)/demo.hone

test: setup-test
	$(CONFIGURE) -DHONE_TRAIN=ON -DHONE_TESTS=ON >/dev/null
	@cmake --build $(BUILD)
	@BUILD=$(BUILD) tests/run.sh

# What Hone reads, given mutated inputs for MINUTES, shared among the targets of tests/fuzz/targets, or for TARGET alone
# (docs/reference/reliability.md). Needs clang; builds in a folder of its own.
FUZZ_BUILD ?= build-fuzz
MINUTES ?= 60
fuzz: setup-fuzz
	@cmake -S . -B $(FUZZ_BUILD) -G Ninja -DHONE_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++-19 >/dev/null
	@cmake --build $(FUZZ_BUILD) --target fuzz$(if $(TARGET),_$(TARGET))
	@$(PYTHON) tests/fuzz/fuzz.py --build $(FUZZ_BUILD) --minutes $(MINUTES) $(if $(TARGET),--target $(TARGET))

# The main process under sanitizers: all C++ tests but those of learning, and the tests of the command line, with the worker of an ordinary build.
# SANITIZE=thread for ThreadSanitizer, in another SANITIZE_BUILD.
SANITIZE ?= address,undefined
SANITIZE_BUILD ?= build-sanitize
sanitize: setup-test
	$(CONFIGURE) -DHONE_TRAIN=ON -DHONE_TESTS=ON >/dev/null
	@cmake --build $(BUILD) --target product fake_worker
	@cmake -S . -B $(SANITIZE_BUILD) -G Ninja -DHONE_SANITIZE=$(SANITIZE) -DHONE_PLAIN=$(abspath $(BUILD)) >/dev/null
	@cmake --build $(SANITIZE_BUILD) --target hone_tests
	@BUILD=$(SANITIZE_BUILD) tests/sanitize.sh

# dist/hone-*.whl: the product and libhone_learn.so, which serves those who install hone[train]. The libraries of the wheels
# that it depends on stay outside. DIST names another folder.
DIST ?= dist
wheel: setup-wheel train-tools
	@BUILD=$(BUILD) scripts/make_wheel.sh $(DIST)

bench: build
	bench/run.sh

# Exports the programs of data/programs.json that are missing there, then reads every program of the corpus and prints
# which ones load, and how fast.
corpus: setup-models build
	$(PYTHON) scripts/export_models.py --hone $(BUILD)/hone
	$(PYTHON) scripts/read_corpus.py --hone $(BUILD)/hone --corpus $(CORPUS)

# The shipped measurements as data sets, one for each machine: build/data/tile/HOST and build/data/fusion/HOST.
dataset: build
	$(PYTHON) scripts/dataset.py unpack data/kernels.db.xz $(BUILD)/data/kernels.db
	$(PYTHON) scripts/dataset.py unpack data/cold-kernels.db.xz $(BUILD)/data/cold-kernels.db
	$(BUILD)/hone db merge $(BUILD)/data/cold-kernels.db --db $(BUILD)/data/kernels.db
	rm -rf $(BUILD)/data/cold
	$(BUILD)/hone collect export --db $(BUILD)/data/kernels.db --kind fusion --cold --host "AMD EPYC, 2 cores" -o $(BUILD)/data/cold
	for kind in tile fusion; do rm -rf $(BUILD)/data/$$kind; \
	  $(BUILD)/hone collect export --db $(BUILD)/data/kernels.db --kind $$kind --each-host -o $(BUILD)/data/$$kind || exit 1; done

# Trains the shipped models of kernels again, three seeds of trees for options and two of trees and networks for run times, and measures the
# gains of choices by the first for compile-time mode (hone optimize) on each class of machines: minutes on one idle core.
SPLIT = --split data/splits/random.txt
OTHER_FORMS = --more $(BUILD)/data/layout-kernels/amd* $(BUILD)/data/form-kernels/*
RUN_TIMES = $(BUILD)/data/labels/* --work --network $(OTHER_FORMS)
models: setup-bench labels varied-kernels
	cmake --build $(BUILD) --target bench_kernel_rows
	for seed in 0 1 2; do $(PYTHON) scripts/train_kernels.py $(BUILD)/data/tile/* $(SPLIT) --seed $$seed --tool $(BUILD)/bench_kernel_rows \
	  --out data/models/tile/seed-$$seed.safetensors || exit 1; done
	for seed in 0 1; do $(PYTHON) scripts/train_kernels.py $(RUN_TIMES) $(SPLIT) --seed $$seed --tool $(BUILD)/bench_kernel_rows \
	  --out data/models/fusion/seed-$$seed.safetensors || exit 1; done
	$(BUILD)/hone optimize $$(printf -- '--calibrate %s ' $(BUILD)/data/tile/*) $(SPLIT) -o data/models/tile-gains.json --force

# Measures again from which predicted margin on forms of operations are taken (hone optimize): the changes that are shipped, with margins by
# trees that have not seen the program. Trees that are trained already are taken from build/forms.
form-gains: setup-models setup-bench labels varied-kernels
	cmake --build $(BUILD) --target bench_kernel_rows bench_variants
	$(PYTHON) bench/autotune/form_programs.py $(BUILD)/data/forms
	$(PYTHON) scripts/calibrate_forms.py data/form-changes.jsonl.xz $(BUILD)/data/labels/* $(OTHER_FORMS) $(SPLIT) --programs data/programs.json \
	  --programs $(BUILD)/data/forms/programs.json --machine "AMD avx512, one thread=$(BUILD)/data/fusion/amd-epyc-2-cores" \
	  --machine "AMD avx2 of avx512, one thread=$(BUILD)/data/fusion/amd-epyc-2-cores-at-most-avx2" \
	  --machine "Intel avx2, one thread=data/machines/intel-avx2" --tool $(BUILD)/bench_variants --rows-tool $(BUILD)/bench_kernel_rows \
	  --hone $(BUILD)/hone --models data/models --work $(BUILD)/forms --out data/models/form-gains.json

# Run times of kernels of other layouts and forms, for the trees that predict them.
VARIED = $(BUILD)/data/fusion/* $(BUILD)/data/layout-kernels/amd* $(BUILD)/data/form-kernels/* $(BUILD)/data/layout-kernels/intel*
ALGEBRA = $(BUILD)/data/algebra-kernels/*
varied-kernels: setup-bench dataset
	cmake --build $(BUILD) --target bench_kernel_rows
	for name in layout form algebra; do $(PYTHON) scripts/dataset.py unpack data/$$name-kernels.db.xz $(BUILD)/data/$$name-kernels.db && \
	  rm -rf $(BUILD)/data/$$name-kernels && $(BUILD)/hone collect export --db $(BUILD)/data/$$name-kernels.db --kind fusion --each-host \
	    -o $(BUILD)/data/$$name-kernels || exit 1; done

# Trains the trees that predict kernels of other layouts and forms (layouts in hone tune and hone optimize), without and with drawn programs:
# two minutes.
varied-model: varied-kernels
	$(PYTHON) scripts/train_kernels.py $(VARIED) $(SPLIT) --tool $(BUILD)/bench_kernel_rows --out data/models/varied/seed-0.safetensors
	$(PYTHON) scripts/train_kernels.py $(VARIED) $(ALGEBRA) $(SPLIT) --drawn data/splits/drawn.txt --tool $(BUILD)/bench_kernel_rows \
	  --out data/models/varied/drawn-0.safetensors

# The tables of docs/results/layouts.md in which each program is ranked by what was learnt from the others: 40 minutes on one core.
cross-layout: varied-kernels train-tools
	cmake --build $(BUILD) --target bench_layout_lowered
	for name in layouts layouts-epyc layouts-short-axes; do $(PYTHON) scripts/dataset.py unpack data/$$name.db.xz $(BUILD)/data/$$name.db || exit 1; done
	$(PYTHON) scripts/layout_data.py --hone $(BUILD)/hone export --db $(LAYOUTS).db --host "AMD EPYC, 2 cores" --out $(LAYOUTS)
	$(PYTHON) bench/layout/short_axes.py $(BUILD)/layout/short-axes
	{ $(CROSS) $(LAYOUTS) --database $(LAYOUTS).db --machine $(BUILD)/data/fusion/amd-epyc-2-cores --work $(BUILD)/layout/cross \
	    --kernels $(VARIED) --drawn-kernels $(ALGEBRA) --drawn data/splits/drawn.txt \
	    --unseen data/layouts-short-axes $(BUILD)/layout/short-axes --unseen-database $(BUILD)/data/layouts-short-axes.db && \
	  $(CROSS) data/layouts --database $(BUILD)/data/layouts.db --machine $(BUILD)/data/fusion/intel-r-xeon-r-processor-2-cores \
	    --work $(BUILD)/layout/cross-xeon --kernels $(VARIED); } >$(BUILD)/bench/cross-layout.md

# The same for one program of each of 145 models on a Xeon of another class, half of whose layouts were measured twice: 50 minutes on one core.
MANY = $(BUILD)/data/layouts-many
cross-layout-many: varied-kernels train-tools
	cmake --build $(BUILD) --target bench_layout_lowered
	for name in layouts-many layouts-many-again; do $(PYTHON) scripts/dataset.py unpack data/$$name.db.xz $(BUILD)/data/$$name.db || exit 1; done
	$(PYTHON) scripts/layout_data.py --hone $(BUILD)/hone --split data/splits/layouts-many.txt export --db $(MANY).db \
	  --host "Intel(R) Xeon(R) Processor, 2 cores" --out $(MANY)
	$(CROSS) $(MANY) --database $(MANY).db --again $(MANY)-again.db --machine $(MANY) --work $(BUILD)/layout/cross-many \
	  --kernels $(VARIED) >$(BUILD)/bench/cross-layout-many.md

# The tables of docs/results/cost-model.md: trees for both splits, for unseen machines and for learning curves, half an hour on one core.
tables-perf-model: setup-bench labels varied-kernels
	cmake --build $(BUILD) --target bench_kernel_rows
	$(PYTHON) bench/perf_model/tree_tables.py --data $(BUILD)/data --out $(BUILD)/bench/cost-model.md

# Run times of defaults that trees with code learn from, build/data/labels/HOST: those of build/data/kernels.db, but the Xeon's are of another Xeon
# that watched its core (data/xeon-watched.db.xz).
labels: dataset
	$(PYTHON) scripts/dataset.py unpack data/xeon-watched.db.xz $(BUILD)/data/xeon-watched.db
	$(PYTHON) scripts/dataset.py bare $(BUILD)/data/kernels.db $(BUILD)/data/labels.db --without $(BUILD)/data/xeon-watched.db
	$(BUILD)/hone db merge $(BUILD)/data/xeon-watched.db --db $(BUILD)/data/labels.db
	rm -rf $(BUILD)/data/labels
	$(BUILD)/hone collect export --db $(BUILD)/data/labels.db --kind fusion --each-host -o $(BUILD)/data/labels

# The machine code of these kernels, as XLA generates it for the CPU that measured, compiled without running any: build/data/code, forty minutes on
# one idle core; goes on where it was stopped.
kernel-code: labels
	cmake --build $(BUILD) --target bench_kernel_code bench_kernel_rows hone-xla
	for host in amd-epyc-2-cores:znver4 amd-epyc-2-cores-at-most-avx2:this intel-r-xeon-r-processor-2-cores:emeraldrapids; do \
	  $(BUILD)/bench_kernel_code $(BUILD)/data/labels.db $(BUILD)/data/labels/$${host%%:*} $(BUILD)/data/code/$${host%%:*} $${host##*:} || exit 1; done

# Trees of the Xeon's watched run times beside those of the same kernels as they were measured before, medians of three visits
# (docs/results/cost-model.md).
WATCHED = $(BUILD)/data/watched
tables-watched: setup-bench kernel-code
	mkdir -p $(WATCHED)
	$(PYTHON) scripts/dataset.py unpack data/xeon-visits.db.xz $(BUILD)/data/xeon-visits.db
	cp $(BUILD)/data/kernels.db $(WATCHED)/visited.db
	$(BUILD)/hone db merge $(BUILD)/data/xeon-visits.db --db $(WATCHED)/visited.db
	$(PYTHON) scripts/dataset.py bare $(WATCHED)/visited.db $(WATCHED)/old.db --like $(BUILD)/data/xeon-watched.db
	$(PYTHON) scripts/dataset.py bare $(BUILD)/data/kernels.db $(WATCHED)/new.db
	$(BUILD)/hone db merge $(BUILD)/data/xeon-watched.db --db $(WATCHED)/new.db
	for labels in old new; do rm -rf $(WATCHED)/$$labels; \
	  $(BUILD)/hone collect export --db $(WATCHED)/$$labels.db --kind fusion --each-host -o $(WATCHED)/$$labels || exit 1; done
	for split in random manual; do for labels in old new; do $(PYTHON) bench/perf_model/code_model.py $(WATCHED)/$$labels/* \
	  --code $(BUILD)/data/code --database $(WATCHED)/$$labels.db --tool $(BUILD)/bench_kernel_rows --split data/splits/$$split.txt --part test \
	  --seeds 3 --variants "before compiling" "both and ratio" "both, from work" || exit 1; done; done

# Trains the trees of kernels whose inputs are out of the caches (hone predict): seconds.
cold-model: setup-bench dataset
	cmake --build $(BUILD) --target bench_kernel_rows
	$(PYTHON) scripts/train_cold_model.py --warm $(BUILD)/data/fusion/amd-epyc-2-cores --cold $(BUILD)/data/cold $(SPLIT) \
	  --tool $(BUILD)/bench_kernel_rows --out data/models/cold/seed-0.safetensors --report

# Trains the shipped trees that see the code (hone predict): three minutes on one core.
CODE = --code $(BUILD)/data/code --database $(BUILD)/data/labels.db --tool $(BUILD)/bench_kernel_rows
code-model: setup-bench kernel-code
	for seed in 0 1 2; do $(PYTHON) scripts/train_code_model.py $(BUILD)/data/labels/* $(CODE) $(SPLIT) --seed $$seed \
	  --out data/models/code/seed-$$seed.safetensors || exit 1; done

# Trees with features of compiled code beside those without (docs/results/cost-model.md).
tables-code-model: setup-bench kernel-code
	for split in random manual; do $(PYTHON) bench/perf_model/code_model.py $(BUILD)/data/labels/* $(CODE) \
	  --split data/splits/$$split.txt --part test --seeds 3 --unseen \
	  --machine-kernels data/machine-kernels.db --variants "before compiling" "both and ratio" "both, from work" || exit 1; done

# The tables of docs/results/layouts.md: trivial rankers, the shipped ones, networks of three seeds, ceilings: a quarter of an hour on one core,
# to build/bench/layouts.md. The public files are in the corpus (CORPUS=FOLDER); without it their tables are left out.
LAYOUTS = $(BUILD)/data/layouts-epyc
CROSS = $(PYTHON) bench/layout/cross.py --hone $(BUILD)/hone
TPU_FILES = $(CORPUS)/timxor+predict_ai_model_runtime_kaggle/data/npz
TPU_TILES = $(CORPUS)/google-research-datasets+tpu_graphs/tpu_graphs/process_data/tensorflow_ops/testdata/op_tuning_data.pb
TABLE = $(PYTHON) bench/layout/table.py --hone $(BUILD)/hone --models $(BUILD)/layout/models
tables-layout: setup-bench train-tools dataset
	cmake --build $(BUILD) --target bench_kernel_rows
	for name in layouts layouts-epyc; do $(PYTHON) scripts/dataset.py unpack data/$$name.db.xz $(BUILD)/data/$$name.db || exit 1; done
	$(PYTHON) scripts/layout_data.py --hone $(BUILD)/hone export --db $(LAYOUTS).db --host "AMD EPYC, 2 cores" --out $(LAYOUTS)
	mkdir -p $(BUILD)/bench
	{ $(TABLE) own data/layouts --name "Intel Xeon" --database $(BUILD)/data/layouts.db --other $(LAYOUTS) && \
	  $(TABLE) own $(LAYOUTS) --name "AMD EPYC" --database $(LAYOUTS).db --other data/layouts \
	    --scores "run times predicted after lowering" docs/results/raw/layouts-lowered.jsonl && \
	  for host in $(BUILD)/data/tile/*; do $(PYTHON) bench/layout/kernel_table.py $$host --tool $(BUILD)/bench_kernel_rows || exit 1; done; } \
	  >$(BUILD)/bench/layouts.md
	if test -e "$(TPU_FILES)"; then { $(TABLE) public $(TPU_FILES)/layout/xla/*/valid/unet_3d.4x4.bf16.npz && \
	  $(BUILD)/hone tpugraphs import $(TPU_TILES) $(TPU_FILES)/tile/xla/train/*.npz -o $(BUILD)/data/tpu-tiles -q >&2 && \
	  $(TABLE) tiles $(BUILD)/data/tpu-tiles --name "the public files"; } >>$(BUILD)/bench/layouts.md; fi

# The kernels that a machine measures of itself (hone collect machine), chosen by the trees that ship. Those of data/machine-kernels.db are of
# earlier trees, and as good (docs/results/cost-model.md).
machine-kernels: setup-bench dataset
	cmake --build $(BUILD) --target bench_kernel_rows
	$(PYTHON) scripts/machine_kernels.py $(BUILD)/data/fusion/* --database $(BUILD)/data/kernels.db $(SPLIT) \
	  --weights data/models/fusion/seed-0.safetensors --out data/machine-kernels.db

# Trains the model of the forms of operations on the measurements that are shipped: a minute. `make operation-rows` adds rows of this
# machine to them, until it is interrupted.
OPERATION_ROWS = $(BUILD)/data/operations.jsonl
operation-model: setup-bench build
	cmake --build $(BUILD) --target bench_operation_rows
	mkdir -p $(BUILD)/data && xz -dkc data/operations.jsonl.xz > $(OPERATION_ROWS)
	$(PYTHON) scripts/train_operations.py $(OPERATION_ROWS) --tool $(BUILD)/bench_operation_rows --out data/models/operations.json

OPERATION_SEED ?= 1
operation-rows: build
	mkdir -p $(BUILD)/data
	cmake --build $(BUILD) --target bench_operation_rows
	$(BUILD)/bench_operation_rows collect $(BUILD)/data/operations-here.jsonl 1000000 $(OPERATION_SEED) $(ISA)

# The winners that a search opens with on a machine that has measured nothing, from the training programs only: a minute.
known: dataset
	rm -f data/known.db
	$(BUILD)/hone collect known --db $(BUILD)/data/kernels.db $(SPLIT) --isa avx512 -o data/known.db
	$(BUILD)/hone collect known --db $(BUILD)/data/kernels.db $(SPLIT) --host 'AMD EPYC, 2 cores, at most avx2' --isa avx2 -o data/known.db

# Searches for the orders that `hone order` begins with, on the training families only, first on small programs and then on training steps,
# too: twelve minutes each on an idle core, to build/pass_order. A search ends by time, so that it finds other orders on another machine; those
# that ship are data/models/order/orders.json.
FIXED_SECONDS ?= 300
fixed-orders: setup-gym setup-examples build
	$(PYTHON) bench/pass_order/steps.py $(BUILD)/pass_order/steps
	for seed in 0 1 2; do for words in "--max-instructions 500" "--max-instructions 700 --steps $(BUILD)/pass_order/steps"; do \
	  $(PYTHON) bench/pass_order/fixed_order.py $$words --seconds $(FIXED_SECONDS) --seed $$seed --processes 1 \
	    -o $(BUILD)/pass_order/fixed_order-$$seed.json || exit; done; done

# Trains the policy that follows two of the shipped orders again: a minute on an idle core, and some for the passes that it tries.
one-walk-policy: setup-gym setup-examples build
	$(PYTHON) bench/pass_order/steps.py $(BUILD)/pass_order/steps
	$(PYTHON) bench/pass_order/follow.py --order data/models/order/orders.json --orders 1,0 --max-instructions 700 \
	  --steps $(BUILD)/pass_order/steps --presence --walk 75 -o $(BUILD)/pass_order/one-walk.safetensors

# The agents of Ganai et al. 2022 with their steps and networks, three seeds, and Figures 2 to 4 on the test programs, to
# build/pass_order/paper. Takes hours of a core for each seed; a stopped run goes on. MATMUL=medium where the CPU has AMX.
MATMUL ?= highest
tables-pass-order: setup-bench setup-gym setup-examples train-tools
	$(PYTHON) bench/pass_order/run.py --paper --workers 1 --matmul-precision $(MATMUL) --build $(BUILD) --out $(BUILD)/pass_order/paper

# Trains the shipped policy of `hone order` again, on the training families of bench/pass_order only: ten minutes on an idle core.
ORDER_STEPS ?= 204800
order-policy: train-tools
	$(BUILD)/hone gym train $$($(PYTHON) bench/pass_order/programs.py training --max-instructions 500) --agent ppo \
	  --environment hone/XlaPassOrderActionHistory-v0 --workers 1 --layers 256,256 --rollout 1024 --environments 16 --reward-scale 10 --steps $(ORDER_STEPS) --seed 0 \
	  -o data/models/order/policy.safetensors

# Trains the graph policy on five workloads and several machines (TRAINING in bench/go/runs.py); the shipped one had 622
# iterations: four and a half minutes on one idle core.
GO_WORKLOADS = bert transformer_xl2 rnnlm2 resnet50 inception_v3
GO_TRAINING = bert transformer_xl2 rnnlm2 resnet50 inception_v3 transformer_xl2 bert
GO_DEVICES = gpu2-nvlink,gpu2-nvlink,gpu2-nvlink,gpu4-nvlink,gpu2-nvlink,gpu4-nvlink,cpu1
GO_ITERATIONS ?= 622
go-policy: setup-models train-tools
	$(PYTHON) bench/go/workloads.py --out $(BUILD)/go/workloads $(GO_WORKLOADS)
	mkdir -p data/models/go
	$(BUILD)/hone go train $(GO_TRAINING:%=$(BUILD)/go/workloads/%.mlir) --devices $(GO_DEVICES) --hidden 32 --steps 3 \
	  --iterations $(GO_ITERATIONS) --samples 0 --seed 0 -o data/models/go/policy.safetensors

# Trains the scorer of moves of `hone place --strategy guided-moves` again: moves without a scorer, a first one, moves that it picks, and
# the shipped one. Half an hour of one core; the corpus's graphs are among those that it learns from.
GO_MOVES = $(PYTHON) bench/go/moves.py collect
GO_ROWS = $(BUILD)/go/moves/rows
go-moves: setup-models setup-train build
	@cmake --build $(BUILD) --target bench_moves
	$(GO_MOVES) --jobs 323
	$(PYTHON) bench/go/train_moves.py $(GO_ROWS)/drawn-00[0-2]*.bin $(GO_ROWS)/drawn-003[01]*.bin $(GO_ROWS)/drawn-0032[0-2].bin -o $(BUILD)/go/moves/first.txt
	$(GO_MOVES) --jobs 1142
	$(GO_MOVES) --name guided --weights $(BUILD)/go/moves/first.txt --jobs 185
	$(PYTHON) bench/go/train_moves.py $(GO_ROWS)/*.bin --epochs 8 -o src/sim/move_weights.def

# Writes examples/*.mlir and examples/examples.json again from their JAX and Keras sources.
examples: setup-examples
	$(PYTHON) scripts/export_examples.py

# Writes the pages of docs/reference that are generated from the code, and the table of commands in README.md.
reference: build
	$(PYTHON) scripts/make_reference.py --hone $(BUILD)/hone

lint: setup-dev
	.venv/bin/clang-format --dry-run --Werror $(CPP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(PYTHON) scripts/check_layers.py
	$(PYTHON) scripts/check_size.py

# Slow: static analysis of all code that does not include XLA, source by source, which needs the headers that a build makes.
tidy: setup-dev setup-train build
	@cmake -S . -B $(BUILD)/tidy -G Ninja -DHONE_TRAIN=ON -DHONE_SINGLE_UNITS=ON >/dev/null
	@cp -r $(BUILD)/generated $(BUILD)/tidy/
	.venv/bin/clang-tidy -p $(BUILD)/tidy --quiet $(filter-out src/xla/%,$(filter src/%.cc,$(CPP)))

format: setup-dev
	.venv/bin/clang-format -i $(CPP)
	.venv/bin/ruff format .

clean:
	rm -rf $(BUILD) $(FUZZ_BUILD) $(SANITIZE_BUILD)
