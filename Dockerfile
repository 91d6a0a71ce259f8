# One image for worker, signer and API; the command chooses. glibc: the Temporal SDK does not run on musl.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY devkit/package.json devkit/
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps
COPY --from=build --chown=node:node /app/package.json ./
COPY --from=build --chown=node:node /app/node_modules node_modules
COPY --from=build --chown=node:node /app/dist dist
COPY --from=build --chown=node:node /app/scripts/start.mjs scripts/
# The socket between gateway and x402 worker: a volume that is mounted here takes over the owner.
RUN install -d -o node -g node -m 700 /run/sluice
USER node
CMD ["npm", "run", "worker"]
