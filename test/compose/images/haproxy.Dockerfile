# Stands in for haproxy:3.0.12-alpine.
ARG BASE
FROM ${BASE}
RUN echo 'haproxy:x:99:' >>/etc/group && echo 'haproxy:x:99:99::/var/lib/haproxy:/bin/sh' >>/etc/passwd
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["/usr/sbin/haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
