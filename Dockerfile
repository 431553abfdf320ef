# The service in production, without the embedded PostgreSQL.
FROM node:24.21.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY admin/package.json admin/
COPY packages/adapter-test/package.json packages/adapter-test/
COPY packages/check-provider/package.json packages/check-provider/
COPY packages/client/package.json packages/client/
COPY packages/embedded-postgres/package.json packages/embedded-postgres/
COPY packages/server/package.json packages/server/
RUN npm ci --ignore-scripts
COPY .swcrc nest-cli.json tsconfig*.json ormconfig.ts ./
COPY admin admin
COPY demo/style.css demo/
COPY packages packages
COPY src src
# Removes the links to packages/, which are compiled into dist/, and types, source maps and documents of dependencies: more than
# half of their size.
RUN npm run build \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && rm -r node_modules/@latchkey \
  && find node_modules -type f -regex '.*\.\(map\|d\.[cm]?ts\|md\)' -delete

FROM node:24.21.0-trixie-slim
LABEL org.opencontainers.image.title="Latchkey" \
  org.opencontainers.image.description="A sign-in service: OAuth 2.0 authorization code flow against your identity provider" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/admin/dist admin/dist
COPY demo demo
COPY docs/openapi.html docs/openapi.json docs/
# The image's user `node`, as a number: Kubernetes' runAsNonRoot cannot check a name.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm, which does not forward SIGTERM. It starts no child process, so it needs no init.
CMD ["node", "dist/src/main.js", "serve"]
