# Stands in for quay.io/coreos/etcd: the same programs, set by the environment.
ARG BASE
FROM ${BASE}
ENV PATH=/usr/bin
EXPOSE 2379 2380
CMD ["etcd"]
