# All packages come from the npm registry.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# The commit for the field buildInfo, because an image is built without the history of the repository.
ARG BUILD_COMMIT
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

# The files belong to root, and the service writes none: the file system can be read-only.
FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# The commands: docker run IMAGE ./directory --help
COPY --from=build /app/bin ./bin
COPY --from=build /app/directory ./
COPY --from=build /app/web/explorer/dist ./web/explorer/dist
# The embedded database of demonstrations (ALLOW_EMBEDDED=true). Mount a volume at /app/.data to keep it.
COPY --from=build /app/sample/directory.ldif /app/sample/model.yaml /app/sample/clients.json ./sample/
RUN mkdir .data && chown node:node .data
# The user node by number, because Kubernetes checks runAsNonRoot by number.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/_health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "dist/bundled/main.js"]
