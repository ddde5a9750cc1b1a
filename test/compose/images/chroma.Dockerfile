# Stands in for chromadb/chroma: the same server, as the npm package carries it. The context holds the
# installed packages.
ARG NODE
FROM ${NODE}
WORKDIR /srv
COPY node_modules ./node_modules
RUN mkdir /data
VOLUME /data
EXPOSE 8000
CMD ["node", "node_modules/chromadb/dist/cli.mjs", "run", "--path", "/data", "--host", "0.0.0.0", "--port", "8000"]
