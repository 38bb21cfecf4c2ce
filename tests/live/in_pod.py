"""The reconciler as in a pod: the files of its service account lie where SERVICE_ACCOUNT says. The client library reads them from
`/var/run/secrets/kubernetes.io/serviceaccount`, where a test may not write."""

import os

from kubernetes.config import incluster_config

from reconciler.cli.main import main

if __name__ == "__main__":
    directory = os.environ["SERVICE_ACCOUNT"]
    incluster_config.SERVICE_TOKEN_FILENAME = f"{directory}/token"
    incluster_config.SERVICE_CERT_FILENAME = f"{directory}/ca.crt"
    main()
