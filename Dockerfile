# Hone on Debian 12: the wheel is built in one stage and installed in another, without compiler.
#   docker build -t hone . && docker run --rm -v $PWD:/work hone tune my_model.mlir --budget 60s
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends make git ca-certificates
WORKDIR /hone
COPY . .
RUN make setup && .venv/bin/pip wheel . --no-deps --wheel-dir dist

FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /hone/dist /dist
RUN python3 -m venv /opt/hone && \
    /opt/hone/bin/pip install --no-cache-dir --no-deps --no-compile tensorflow-cpu==2.21.0 numpy==2.3.4 /dist/hone-*.whl
ENV PATH=/opt/hone/bin:$PATH
WORKDIR /work
ENTRYPOINT ["hone"]
CMD ["--help"]
