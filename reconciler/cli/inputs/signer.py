"""The option that narrows trusted keys to named signers."""

import click

signer_option = click.option(
    "--signer",
    "signers",
    metavar="NAME",
    multiple=True,
    help="Of those, only this principal (SSH) or fingerprint. Repeatable.",
)
