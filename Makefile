# `make help` lists the targets. The two that matter: `make serve` and `make test`.

PYTHON ?= python3
# TORCH=cpu takes torch from PyTorch's own index, without CUDA: 5 GB less on x86-64 Linux.
TORCH ?= locked
BIN := .venv/bin
READY := .venv/ready
export NO_MKDOCS_2_WARNING = 1

.PHONY: help serve site test check capture check-captures compare diagrams audit lesson format lint lock browser clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

serve: $(READY) ## Serve the site on this machine, rebuilt on every change
	$(BIN)/python -m mkdocs serve

site: $(READY) ## Build the static site into site/
	$(BIN)/python -m mkdocs build --strict

test: $(READY) browser lint ## Run everything that must hold, burn included
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(READY) ## Check the sources quickly: pages, captures, comparisons, claims (no Rust, no build)
	$(BIN)/python -m scripts.checks

capture: $(READY) ## Run the burn programs that changed and keep what they did; ALL=1 runs every one
	$(BIN)/python -m scripts.capture $(if $(ALL),--all)

check-captures: $(READY) ## Run every burn program again and compare with what is kept
	$(BIN)/python -m scripts.capture --check

compare: $(READY) ## Print every comparison of PyTorch with burn
	$(BIN)/python -m scripts.compare $(LESSON)

diagrams: $(READY) browser ## Draw the mermaid diagrams that changed (needs npm)
	$(BIN)/python -m scripts.diagrams

audit: site browser ## Print weight, Lighthouse and axe of the built site (needs npm)
	$(BIN)/python -m scripts.audit

lesson: $(READY) ## Begin a lesson: make lesson NAME=optimizer-state PART=main-line
	$(BIN)/python -m scripts.new_lesson $(NAME) $(PART)

format: $(READY) ## Format Python and Rust
	$(BIN)/ruff check -q --fix .
	$(BIN)/ruff format -q .
	cargo fmt

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cargo fmt --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings

lock: $(READY) ## Lock the Python dependencies anew
	@for part in requirements requirements-torch requirements-uv; do \
	  $(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	    --no-emit-index-url --custom-compile-command "make lock" -o $$part.txt $$part.in || exit 1; done

browser: ## Install Chromium and a Chinese font for the browser tests where they are missing and can be
	@if command -v chromium chromium-browser google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk >/dev/null; \
	else echo "No Chromium: the browser tests will be skipped. Install chromium and fonts-noto-cjk to run them."; fi

$(READY): requirements.txt requirements-torch.txt requirements-uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-uv.txt
ifeq ($(TORCH),cpu)
	$(BIN)/uv pip install -q --torch-backend cpu "$$(cat requirements-torch.in)"
	$(BIN)/uv pip install -q --require-hashes -r requirements.txt
else
	$(BIN)/uv pip install -q --require-hashes -r requirements.txt -r requirements-torch.txt
endif
	@echo "Compiling Python's bytecode once, which makes every later start faster"
	@$(BIN)/python -m compileall -q -j 2 .venv/lib >/dev/null || true
	@$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "project.pth").write_text(f"{pathlib.Path.cwd()}\n")'
	@touch $(READY)

clean: ## Remove what was built, installed and kept
	rm -rf .venv .cache site target scripts/mermaid/node_modules
