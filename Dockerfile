# Everything comes from the npm registry: no other source has to be reachable.
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# An image is built without the repository's history: this names the commit for the field buildInfo.
ARG BUILD_COMMIT
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

# What runs is owned by root, and nothing is written beside it: the file system may be read-only.
FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/web/explorer/dist ./web/explorer/dist
# For demonstrations, which ALLOW_EMBEDDED=true turns on; with a volume at /app/.data they outlive the container.
COPY --from=build /app/sample/directory.ldif /app/sample/clients.json ./sample/
RUN mkdir .data && chown node:node .data
# The user node, by number: Kubernetes can only see of a number that it is not root.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/_health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
