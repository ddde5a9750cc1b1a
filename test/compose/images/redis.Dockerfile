# Stands in for redis:7.4.6-alpine.
ARG BASE
FROM ${BASE}
RUN echo 'redis:x:999:' >>/etc/group && echo 'redis:x:999:999::/data:/bin/sh' >>/etc/passwd \
 && mkdir /data && chown 999:999 /data
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
WORKDIR /data
VOLUME /data
EXPOSE 6379
# As the official image: inside a container, protection is the network's business.
ENTRYPOINT ["/bin/sh", "-c", "exec \"$@\" --bind 0.0.0.0 --protected-mode no", "redis"]
CMD ["redis-server"]
