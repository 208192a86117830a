# A server of models, as a user that may nothing else; docs/serving.md says how to run it.
#   docker build -t cotm-serve .
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /opt/cotm && /opt/cotm/bin/pip install --no-cache-dir "/source[serve]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin cotm
COPY --from=build /opt/cotm /opt/cotm
ENV PATH=/opt/cotm/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /models
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=3)"]
# A token comes from COTM_SERVE_TOKEN or a file; without one the server does not start.
ENTRYPOINT ["cotm", "serve", "--host", "0.0.0.0", "--log", "json"]
CMD ["model.cotm"]
