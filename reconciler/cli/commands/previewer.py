"""`reconciler previewer`: open pull requests, previewed inside the cluster: no credentials for it in CI."""

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.log_lines import LogChoice, log_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.source import access_options

_FILE = NAMED_PATH


@click.command("previewer")
@click.option("--host", type=click.Choice(["github", "gitlab"]), default="github", show_default=True, help="The code host.")
@click.option("--api-url", metavar="URL", help="The API of a server of your own [default: api.github.com, gitlab.com].")
@click.option("--repository", metavar="NAME", required=True, help="owner/name, or GitLab's project id or group/name.")
@click.option("--git", "git_url", metavar="URL", required=True, help="Where that repository is fetched from: https://…, ssh://….")
@click.option(
    "--token-file",
    metavar="FILE",
    required=True,
    type=_FILE,
    help="Token that may read and comment. It is read again in each round.",
)
@click.option("--login", metavar="NAME", default="", help="Who the token writes as, where it cannot ask (a GitHub App).")
@click.option("--branch", metavar="NAME", default="main", show_default=True, help="Pull requests into this branch.")
@click.option("--path", metavar="PATH", default="policies", show_default=True, help="Where the cluster's policies are.")
@click.option(
    "--name", "names", metavar="NAME", multiple=True, help="Which NodeGroupPolicy. Repeatable: each gets its own comment."
)
@click.option("--cluster-name", metavar="NAME", required=True, help="Name of the cluster: one comment per cluster.")
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=_FILE,
    help="Snapshot instead of the live cluster, read again each round.",
)
@click.option(
    "--poll", "poll_seconds", metavar="S", type=click.IntRange(5, 3600), default=60, show_default=True, help="Seconds a round."
)
@click.option(
    "--refresh",
    "refresh_seconds",
    metavar="S",
    type=click.IntRange(60, 86_400),
    default=900,
    show_default=True,
    help="Preview again after so many seconds, since demand moves.",
)
@click.option(
    "--forks",
    type=click.Choice(["label", "always", "never"]),
    default="label",
    show_default=True,
    help="Preview pull requests from forks: those with --fork-label, all, none.",
)
@click.option(
    "--fork-label",
    metavar="NAME",
    default="preview",
    show_default=True,
    help="Label that lets one from a fork in, for one commit: NAME@COMMIT, its whole id.",
)
@click.option(
    "--git-cache", metavar="DIR", type=_FILE, help="Where fetched objects are kept [default: below ~/.cache/reconciler]."
)
@click.option(
    "--listen", metavar="ADDRESS", help="Answer the probes /healthz and /readyz at HOST:PORT, or :PORT [default: nowhere]."
)
@click.option("--once", is_flag=True, help="One round, then print what became of each pull request and end.")
@log_options
@access_options
@connection_options
def command(**given: object) -> int:
    """Preview every open pull request against the live cluster, and keep one comment on it. The comment is written once, and
    updated when something changes. The cluster is only read. Of a pull request, only the policy files are read, as data.

    The comments are the only state. A pull request that does not touch PATH gets none. Everyone who can read the repository can
    read what a comment says about the cluster. Pull requests from forks therefore need a label, which only members can set.

    Run one for each cluster, with its own --path and --cluster-name. Clusters share the repository and the token.

    \b
    Examples:
      reconciler previewer --repository team/policies \\
        --git https://github.com/team/policies.git --token-file token \\
        --git-password-file token --path clusters/prod --cluster-name prod \\
        --listen :8080
      reconciler previewer --host gitlab --repository 42 \\
        --git https://gitlab.com/team/policies.git --token-file token \\
        --git-password-file token --cluster-name prod --cluster snapshot.tar.gz \\
        --once
    """
    from reconciler.cli.inputs.remote_access import remote_access
    from reconciler.cli.processes.previewer_run import PreviewerChoice, run_previewer

    access, rest = remote_access(given)
    rest["log"] = LogChoice(form=rest.pop("log_format"), level=rest.pop("log_level"))
    options = {name: rest.pop(name) for name in PreviewerChoice.__struct_fields__}
    return run_previewer(PreviewerChoice(**options), access, rest)
