"""The hook of mkdocs: checks before a build, PyTorch's outputs for markdown-exec, checks after it."""

from pathlib import Path
from urllib.parse import urlparse

import markdown_exec
from mkdocs import utils
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from pymdownx.superfences import SuperFencesException

from scripts import bundle, checks, execute, offline, plain, preview, search
from scripts.check_site import check as check_site
from scripts.lessons import lesson, lessons
from scripts.problems import Stop

clean_directory = utils.clean_directory
config_in_build = None
publishing = False


def on_startup(command, **kwargs):
    """Note whether the site is built to be published; `mkdocs serve` shows drafts too."""
    global publishing
    publishing = command == "build"


def on_config(config, **kwargs):
    """Let markdown-exec get a section's output from the run of its whole program, in place of running it here."""
    global config_in_build
    config_in_build = config
    markdown_exec.formatters["python"] = execute_fence
    return config


def on_pre_build(config, **kwargs):
    """Stop the build on any problem of the sources, before anything is written."""
    if inside(config):
        return
    stopping(checks.everything)
    if publishing:
        stopping(lambda: checks.stop_on(checks.check_drafts()))


@event_priority(-200)
def on_nav(nav, config, files):
    preview.note(config, files=files, nav=nav)
    return nav


def on_env(env, config, files):
    preview.note(config, env=env)
    return env


def on_serve(server, config, builder):
    server.builder = preview.Preview(server.builder, Path(config.site_dir))
    return server


@event_priority(-200)
def on_post_build(config, **kwargs):
    """Write the downloads, and stop on anything wrong in what was built: after mkdocs-static-i18n has built every language."""
    if not inside(config):
        site = Path(config.site_dir)
        for found in lessons():
            bundle.write(found, site / "downloads")
        search.split(site)
        stopping(lambda: search.mend(site))
        plain.write(site, config.site_url)
        offline.write(site)
        stopping(lambda: checks.stop_on(check_site(site, urlparse(config.site_url).path)))


def on_post_template(output_content, template_name, config):
    """One 404 page for both languages, that of the first: the further ones would overwrite it."""
    return "" if template_name == "404.html" and inside(config) else output_content


def on_build_error(error, **kwargs):
    """Undo what mkdocs-static-i18n leaves behind when a language's build fails.

    It would take every later build of `mkdocs serve` for one within a build: no checks, and no second language.
    """
    utils.clean_directory = clean_directory
    if config_in_build:
        i18n = config_in_build.plugins["i18n"]
        i18n.building, i18n.current_language = False, None


def inside(config) -> bool:
    """Whether this is the build of a further language, which mkdocs-static-i18n makes within the first one's."""
    return config.plugins["i18n"].building


def stopping(work) -> None:
    try:
        work()
    except Stop as stop:
        raise PluginError(str(stop)) from None


def execute_fence(*, code: str, id: str = "", **options) -> str:
    """markdown-exec's formatter for Python: the kept output of the section that the fence's `id` names.

    A fence that no `pair` or `code` call made, or whose code is not the section's, is an error: it would show
    something that was not run.
    """

    def output(*arguments, **extra) -> str:
        name, _, section = id.partition("/")
        found = lesson(name)
        if found.sections("pytorch").get(section) != code:
            raise SuperFencesException(f"the fence {id!r} is not a section of a program: write {{{{ pair(…) }}}}")
        return execute.result(found, found.runs["main"]).output[section]

    return markdown_exec.base_format(language="python", run=output, code=code, id=id, **options)
