# The commands of this project. `make` alone lists them.
#
# Each of them sets up .venv first, and only when requirements.lock or pyproject.toml changed since the last time.

UV_VERSION := 0.13.8
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help chat tour recording test test-rest test-all browser chaos chaos-kills alerts bench bench-yardstick bench-decide bench-cost bench-page bench-spending bench-first-word docs site packages check format lock setup clean FORCE

help:
	@echo "make chat     talk to it in this terminal"
	@echo "make tour     watch it work for a minute, without a key (ARGS=--fast)"
	@echo "make test     run the tests that tell most, in four processes, which often wait (JOBS=2; ARGS='tests/wire -k abort' for some)"
	@echo "make test-all run these, and then the rest: real processes, platforms, PostgreSQL (LONG=1 for more; make test-rest for the rest alone)"
	@echo "make browser  test the page in Chromium, which has to be there (CHROMIUM=PATH; PICTURES=FOLDER for pictures)"
	@echo "make chaos    strike it in all ways (RUNS=200 seeded runs, SEED=7, OUT=FILE; MINUTES=20: one long run)"
	@echo "make chaos-kills  kill it 20 times in each of many ways at chosen moments (ROUNDS=5, SEED=7, ARGS='-k worker')"
	@echo "make alerts   break each part, and see the alerts of deploy/ ring in a real Prometheus, which has to be there"
	@echo "make bench    how fast it is, how small, how soon back, for 18 minutes (ARGS='turns --rate 10', OUT=FILE.json)"
	@echo "make bench-yardstick  what compactions keep (DATA=FOLDER, which tests.bench.yardstick.fetch fills; OUT=docs/quality.md ARGS=--quick)"
	@echo "make bench-decide   how long a strategy takes to decide"
	@echo "make bench-cost     what a long conversation costs, and what is read from the prompt cache (ARGS='--turns 200')"
	@echo "make bench-page     how long each page takes on the server over 1,000 conversations (ARGS='--small --serve 8090')"
	@echo "make bench-spending  how long /usage, the page and a reservation take over a million requests (ARGS='--rows 100000')"
	@echo "make bench-first-word  from an installer to the first answer, in seconds and keys, beside others (ARGS='--rounds 1')"
	@echo "make docs     write what is made from the code: settings, the table of commands, the rooms, the rules for the Prometheus Operator"
	@echo "make site     make a site of docs/ in build/site (make site ARGS=serve shows it, and follows changes)"
	@echo "make recording  write docs/pictures/tour.svg anew, from what the tour does"
	@echo "make packages build sdist and wheel, and try them with the oldest and the newest Python here (ARGS=--oldest for one)"
	@echo "make check    what CI checks: ruff, mypy, import rules"
	@echo "make format   let ruff format and fix"
	@echo "make lock     write the requirements-*.lock files anew (UPGRADE=1 for the newest versions)"
	@echo "make clean    remove .venv and caches; data/ stays"

chat: .venv/.installed
	@$(BIN)/palimpsest chat

tour: .venv/.installed
	@$(BIN)/palimpsest tour $(ARGS)

recording: .venv/.installed
	@$(BIN)/python -m scripts.recording

# What is compiled is kept, also where the environment says otherwise: each process would compile all tests anew.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

test: .venv/.installed
	@$(PYTEST) -n $(or $(JOBS),4) $(or $(ARGS),--part first)

# In more processes: two thirds of it is waiting for other programs.
test-rest: .venv/.installed
	@$(PYTEST) -n $(or $(JOBS),6) --part rest $(ARGS)

test-all: test
	@$(MAKE) --no-print-directory test-rest

browser: .venv/browser/.installed
	@PYTHONPATH=.venv/browser $(BIN)/python -m pytest -p no:xdist tests/browser $(ARGS)

# Beside what the other tests have; it goes with .venv.
.venv/browser/.installed: requirements-browser.lock | .venv/.installed
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--target .venv/browser -r requirements-browser.lock
	@touch $@

chaos: .venv/.installed
	@$(BIN)/python -m tests.chaos.run --runs $(or $(RUNS),20) --jobs $(or $(JOBS),2) $(if $(SEED),--seed $(SEED)) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(OUT),--out $(OUT)) $(ARGS)

chaos-kills: .venv/.installed
	@CHAOS_ROUNDS=$(or $(ROUNDS),20) CROWD=500 DROPS=50 FLEET=1000 $(if $(SEED),CHAOS_SEED=$(SEED)) \
		$(BIN)/python -m pytest tests/chaos -s $(ARGS)

alerts: .venv/.installed
	@LONG=1 $(BIN)/python -m pytest -p no:randomly -p no:xdist -q tests/alerts $(ARGS)

bench: .venv/.installed
	@$(BIN)/python -m tests.bench.speed $(if $(OUT),--json $(OUT)) $(ARGS)

# With the libraries that are compared beside what the program itself needs.
bench-yardstick: .venv/bench/.installed
	@PYTHONPATH=$$(echo .venv/bench/lib/python*/site-packages) $(BIN)/python -m tests.bench.yardstick $(if $(DATA),--data $(DATA)) $(if $(OUT),--out $(OUT)) $(ARGS)

bench-decide: .venv/bench/.installed
	@.venv/bench/bin/python -m tests.bench.decide $(ARGS)

bench-cost: .venv/.installed
	@$(BIN)/python -m tests.bench.cost $(ARGS)

bench-page: .venv/.installed
	@$(BIN)/python -m tests.bench.page $(ARGS)

bench-spending: .venv/.installed
	@$(BIN)/python -m tests.bench.spending $(ARGS)

bench-first-word: .venv/.installed
	@$(BIN)/python -m tests.bench.first_word $(ARGS)

# What the benches compare with, in an environment of its own; it goes with .venv.
.venv/bench/.installed: requirements-bench.lock | .venv/.installed
	@$(BIN)/python -m venv --clear .venv/bench
	@.venv/bench/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-bench.lock
	@touch $@

docs: .venv/.installed
	@$(BIN)/python -m scripts.configuration
	@$(BIN)/python -m scripts.commands
	@$(BIN)/python -m scripts.prometheus_rule
	@$(BIN)/python -m scripts.rooms

site: .venv/site/.installed
	@.venv/site/bin/properdocs $(or $(ARGS),build --strict --quiet)

# In an environment of its own, which goes with .venv.
.venv/site/.installed: requirements-site.lock | .venv/.installed
	@$(BIN)/python -m venv --clear .venv/site
	@.venv/site/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-site.lock
	@touch $@

packages: .venv/.installed
	@$(BIN)/python -m scripts.packages $(ARGS)

check: .venv/.installed
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-cache

format: .venv/.installed
	$(BIN)/python -m ruff check --fix-only .
	$(BIN)/python -m ruff format .

UV_LOCK = --universal --python-version 3.11 --generate-hashes --no-annotate --quiet \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) --output-file

# The lock names no index, so that it serves whoever has a mirror. uv is wanted only here, so it is not in the lock.
lock: .venv/.installed
	@test -x .venv/lock/bin/uv || { $(BIN)/python -m venv .venv/lock && \
		.venv/lock/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); }
	.venv/lock/bin/uv pip compile pyproject.toml --all-extras --group build --group model --group dev $(UV_LOCK) requirements.lock
	.venv/lock/bin/uv pip compile --group bench --constraint requirements.lock $(UV_LOCK) requirements-bench.lock
	.venv/lock/bin/uv pip compile --group site $(UV_LOCK) requirements-site.lock
	.venv/lock/bin/uv pip compile --group browser --constraint requirements.lock $(UV_LOCK) requirements-browser.lock
	$(BIN)/python deploy/image_lock.py

setup: .venv/.installed
	@:

# The stamp holds the path that .venv was made for: a venv that was moved or copied would run the code of its old place.
ifneq ($(shell cat .venv/.installed 2>/dev/null),$(CURDIR))
.venv/.installed: FORCE
endif
.venv/.installed: requirements.lock pyproject.toml scripts/setup
	@scripts/setup

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
