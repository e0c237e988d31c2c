# python.mk: the package for Python.
#
#   make test-python    its tests, with what there is of pandas, pyarrow and lz4
#   make test-readers   the readers in C, Python and Go on READER_LOGS (1000) damaged logs; WEIR_SEED names the logs
#   make bench-python   what a capture and the reading of an event cost from Python
#   make wheel          the wheel, in $(BUILD)/python: without a network if setuptools 70.1, or wheel, is there; else
#                       pip fetches setuptools

.PHONY: test-python test-readers bench-python wheel

PYTHON_OUT = $(BUILD)/python
READER_LOGS = 1000

test-python: need-python $(C)/libweir.so.1
	WEIR_LIBRARY=$(abspath $(C))/libweir.so.1 PYTHONPATH=Languages/Python \
	  timeout -s KILL 600 python3 -B -m unittest discover -s Languages/Python/tests

bench-python: need-python $(C)/libweir.so.1
	WEIR_LIBRARY=$(abspath $(C))/libweir.so.1 PYTHONPATH=Languages/Python python3 -B Languages/Python/tests/cost.py

$(C)/print_log: Tests/Golden/print_log.c Tests/Golden/print_event.h $(C)/libweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libweir.a $(C_LIBS) -o $@

test-readers: need-c need-python weircat $(C)/print_log
	PYTHONPATH=Languages/Python timeout -s KILL 3600 python3 -B Tests/Golden/mutate.py --count $(READER_LOGS) \
	  --keep $(C) $(C)/print_log 'python3 -B -m weir --compare' '$(GO_OUT)/weircat --compare'

# From a copy, for setuptools builds in the folder of the sources.
wheel: need-python
	@mkdir -p $(PYTHON_OUT)
	@rm -rf $(PYTHON_OUT)/source && cp -r Languages/Python $(PYTHON_OUT)/source
	python3 -m pip wheel --quiet --no-deps --disable-pip-version-check --wheel-dir $(PYTHON_OUT) \
	  $$(python3 -c 'import setuptools.command.bdist_wheel' 2>&- || python3 -c 'import setuptools, wheel' 2>&- && \
	  echo --no-build-isolation) $(PYTHON_OUT)/source
	@rm -rf $(PYTHON_OUT)/source
