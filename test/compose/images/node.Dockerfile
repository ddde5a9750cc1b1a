# Stands in for node:24.22.3-bookworm-slim. The context holds a Node.js release for Linux and an npm.
ARG BASE
FROM ${BASE}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && echo 'node:x:1000:' >>/etc/group \
 && echo 'node:x:1000:1000::/home/node:/bin/bash' >>/etc/passwd \
 && mkdir /home/node && chown 1000:1000 /home/node
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
CMD ["node"]
