# The service as a small image: the packages it runs with, its built code, nothing to build with.
# Needs no BuildKit feature, so that any engine builds it.
FROM node:24.22.3-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# No package of this project needs its install script; type declarations, maps and the compiler (a
# peer of @nestjs/swagger, for its plugin) are for developers.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete \
 && rm -rf node_modules/typescript

FROM node:24.22.3-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=optional --ignore-scripts --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

FROM node:24.22.3-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data LOG_FORMAT=json
RUN mkdir /data && chown node:node /data
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY docker/health-check.mjs ./docker/
# By number: an orchestrator can see that it is not root without reading the image's passwd.
USER 1000:1000
VOLUME /data
EXPOSE 3000
# Liveness: an outage of Redis or of the database must not restart the replicas.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "docker/health-check.mjs", "/health/live"]
CMD ["node", "--enable-source-maps", "dist/main.js"]
