# Stands in for postgres:16.11-alpine: the same variables, folder and order of start.
ARG BASE
FROM ${BASE}
RUN echo 'postgres:x:70:' >>/etc/group && echo 'postgres:x:70:70::/var/lib/postgresql:/bin/sh' >>/etc/passwd \
 && install --directory --owner 70 --group 70 --mode 0700 /var/lib/postgresql/data \
 && install --directory --owner 70 --group 70 --mode 3777 /var/run/postgresql
COPY postgres-entrypoint.sh /usr/local/bin/
ARG POSTGRES
ENV PATH=/usr/lib/postgresql/${POSTGRES}/bin:/usr/local/bin:/usr/bin PGDATA=/var/lib/postgresql/data
VOLUME /var/lib/postgresql/data
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["bash", "/usr/local/bin/postgres-entrypoint.sh"]
