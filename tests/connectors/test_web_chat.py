"""The chat page, with the whole program behind it: what somebody in a browser sees and can do."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from bot.agent.commands.table import offered
from bot.compaction.memory_report import RUNTIME
from bot.messages import ABORT_ANSWER, ABORT_COMPACTION, Address
from bot.runtime.access import TOO_FAST
from bot.store import agents, outbox
from tests.connectors.browser import Browser
from tests.connectors.page_lines import lines_of, tags_of
from tests.connectors.web_house import WebHouse, open_web_house
from tests.fundamentals.conversation.test_files import picture
from tests.house import settings_for
from tests.ports import free_port
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall, remembering_brain

COMMANDS = [command.name for command in offered()]
PASSWORD = "a password of the tests"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def model() -> AsyncIterator[MessagesServer]:
    async with MessagesServer(window=3_000) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def house(model: MessagesServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WebHouse]:
    """One program for all tests of this file; each talks in a conversation of its own."""
    settings = settings_for(
        model,
        tmp_path_factory.mktemp("web") / "data",
        http_bind=f"127.0.0.1:{free_port()}",
        agents={"compact_ahead": False},
        files={"most_bytes": 300_000},
        access="pairing",
        rate={"person": 0, "chat": 15},
        page={"password": PASSWORD},
    )
    async with open_web_house(settings) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def browser(house: WebHouse, model: MessagesServer) -> AsyncIterator[Browser]:
    model.brain = remembering_brain
    async with Browser(house.url, PASSWORD) as browser:
        yield browser


async def test_a_reminder_is_shown_on_an_open_page_and_on_one_that_is_opened_later(browser: Browser) -> None:
    async with browser.tab("reminded") as tab:
        await tab.says("/remind in 2 seconds call Ana")
        await tab.sees(lambda tab: any("⏰ call Ana" in line.text for line in tab.lines))
        await tab.says("/remind in 2 seconds buy tea")
        await tab.sees(lambda tab: any("I will remind you" in line.text and "tea" in line.text for line in tab.lines))
    async with browser.tab("reminded") as later:
        await later.sees(lambda tab: any("⏰ buy tea" in line.text for line in tab.lines))
        assert sum("⏰ call Ana" in line.text for line in later.lines) == 1


async def test_the_assistant_that_is_woken_answers_on_an_open_page_and_on_one_that_is_opened_later(
    browser: Browser, model: MessagesServer
) -> None:
    model.brain = lambda request: Reply("It is baked." if "the bread" in request.last_user_text else "It is hot.")
    async with browser.tab("woken") as tab:
        await tab.says("/remind wake in 2 seconds look at the oven")
        await tab.sees(lambda tab: [line.text for line in tab.replies] == ["It is hot."])
        await tab.says("/remind wake in 2 seconds look at the bread")
        await tab.sees(lambda tab: any("look at this" in line.text and "bread" in line.text for line in tab.lines))
    async with browser.tab("woken") as later:
        await later.sees(lambda tab: [line.text for line in tab.replies] == ["It is hot.", "It is baked."])
        assert not any("is due" in line.text for line in later.lines), "the note is for the model alone"


async def test_a_message_is_answered_and_the_answer_is_seen_while_it_is_written(
    browser: Browser, model: MessagesServer
) -> None:
    async with browser.tab("streamed") as tab:
        model.hang(lambda request: "STREAMED" in request.all_text, after=3)
        await tab.says("My colour is STREAMED.")
        await tab.sees(lambda tab: tab.grown and tab.typing)
        assert tab.lines[-1].is_growing
        model.release()
        await tab.sees(lambda tab: tab.replies and not tab.typing)
        assert [line.who for line in tab.lines] == ["person", "model"]
        assert tab.replies[0].text.startswith(tab.grown[0][:3])
        assert len(tab.replies[0].text) > len(tab.grown[0])


LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."


async def test_a_long_reply_comes_block_by_block_and_ends_as_the_page_has_it_anew(
    browser: Browser, model: MessagesServer
) -> None:
    points = "\n".join(f"- point {number}" for number in range(9))
    text = f"# Title\n\nFirst *paragraph* of BLOCKS.\n\n{points}\n\n```py\nx = 1\n```"
    model.brain = lambda request: Reply(text) if "BLOCKS" in request.all_text else remembering_brain(request)
    async with browser.tab("blocks") as tab:
        model.delta_delay = 0.15
        await tab.asks("Say BLOCKS.")
        model.delta_delay = 0.0
        froms = [data["from"] for kind, data in tab.events if kind == "writing"]
        assert froms == sorted(froms)
        assert froms[-1] > 0, "what stands is not sent again"
        async with browser.tab("blocks") as fresh:
            assert fresh.lines[-1].html == tab.lines[-1].html
    assert '<pre tabindex="0"><code>x = 1\n</code></pre>' in tab.lines[-1].html
    assert "<h1>" not in tab.lines[-1].html


async def test_a_compactions_status_is_edited_in_place_and_its_button_takes_it_back(
    browser: Browser, model: MessagesServer
) -> None:
    async with browser.tab("compacted") as tab, browser.tab("compacted") as other:
        for number in range(8):
            await tab.asks(LINE.format(number))
        model.hang(lambda request: request.is_summary)
        await tab.says("/compact")
        await tab.sees(lambda tab: tab.notices and tab.notices[-1].commands == [ABORT_COMPACTION])
        status = tab.notices[-1]
        assert "Compacting" in status.text
        model.release()
        await tab.sees(lambda tab: "Compacted:" in tab.notices[-1].text)
        assert tab.notices[-1].id == status.id
        full, small = re.findall(r"([\d,]+) → ([\d,]+) tokens", tab.notices[-1].text)[0]
        await tab.sees(lambda tab: tab.meter.startswith(f"{small} of 2,160 tokens"))
        await tab.presses(tab.notices[-1].commands[0])
        await tab.sees(lambda tab: len(tab.notices) > 1 and tab.meter.startswith(f"{full} of"))
        assert not [line for line in tab.lines if line.text.startswith("/undo")], "a press is no message"
        assert tab.meter in (await tab.commands("/context")).text, "the bar says what /context says"
        await other.sees(lambda other: other.texts == tab.texts and other.meter == tab.meter)


async def test_the_line_about_memory_is_folded_in_the_pages_own_words_and_the_stream_has_it_for_machines(
    browser: Browser,
) -> None:
    async with browser.tab("folded") as tab:
        await tab.commands("/strategy memory")
        await tab.asks("My locker code is QX-5512.")
        await tab.sees(lambda tab: "Memory: " in tab.notices[-1].text)
        assert "<details" in tab.notices[-1].html
        assert 'href="/conversations/web-folded/memory"' in tab.notices[-1].html
        assert "🧠" not in tab.notices[-1].text
        told = [data["payload"] for kind, data in tab.events if kind == "line" and "payload" in data]
        assert told
        assert json.loads(told[-1].removeprefix(RUNTIME))["acceptedCount"] >= 1
    assert "[CFPM_" not in (await browser.page("/chat/folded")).replace('data-payload="[CFPM_', ""), "only for machines"


async def test_whoever_sits_at_the_page_reads_why_there_is_no_answer(browser: Browser, model: MessagesServer) -> None:
    """They run the program, as whoever sits at the terminal does."""
    async with browser.tab("unanswered") as tab:
        model.fail(401, "authentication_error", "invalid x-api-key", when=lambda request: "KEYLESS" in request.all_text)
        why = await tab.asks("KEYLESS?")
        assert "does not accept our key (invalid x-api-key). Check ANTHROPIC_API_KEY" in why
        await tab.asks("And now?")


async def test_the_page_has_the_chats_beside_it_the_commands_and_each_answer_as_it_was_written(
    browser: Browser, model: MessagesServer
) -> None:
    written = "Take **three** [roses](https://example.org/roses) & <b>\n\n```\nx < 1\n```"
    model.brain = lambda _: Reply(written)
    async with browser.tab("beside") as tab:
        await tab.asks("Which roses?")
    html = await browser.page("/chat/beside")
    beside = html.partition('id="beside"')[2].partition("</ul>")[0]
    assert "Take three roses &amp; &lt;b&gt; x &lt; 1" in beside
    assert '<a href="/chat/beside" aria-current="page">' in beside
    assert 'href="/chat/beside" aria-current="page"' in json.loads(await browser.page("/chat/beside/beside"))["html"]
    offered = [tag["data-command"] for _, tag in tags_of(html) if "data-command" in tag]
    assert offered == [f"/{command}" for command in COMMANDS]
    (line,) = [line for line in lines_of(html) if line.who == "model"]
    source = line.html.partition("<template>")[2].partition("</template>")[0]
    assert unescape(source) == written
    assert "Take three roses &amp;" in await browser.page("/chat"), "the list has no signs of Markdown either"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("My first chat", "my-first-chat"),
        (" Work ", "work"),
        ("a_b-c", "a_b-c"),
        ("Größe & Maß!", "grosse-mass"),
        (f"{'x' * 59} y", "x" * 59),
    ],
)
async def test_what_is_written_for_a_name_becomes_the_name_that_is_closest(
    browser: Browser, written: str, name: str
) -> None:
    await browser.page("/chat/named")
    given = {"name": written, "csrf": browser.csrf}
    async with browser.session.post(f"{browser.url}/chat", data=given, allow_redirects=False) as answer:
        assert (answer.status, answer.headers.get("location")) == (303, f"/chat/{name}")


async def test_whoever_comes_first_need_not_think_of_a_name_and_reads_what_it_is_for(
    model: MessagesServer, tmp_path: Path
) -> None:
    bind = f"127.0.0.1:{free_port()}"
    settings = settings_for(model, tmp_path / "data", http_bind=bind, page={"password": PASSWORD})
    async with open_web_house(settings, roles=()) as house, Browser(house.url, PASSWORD) as browser:
        page = await browser.page("/chat")
    assert "A conversation has a name, so that you find it again; any will do." in page
    assert 'name="name" value="first"' in page


async def test_what_has_nothing_that_a_name_may_have_is_refused_with_what_it_may_have(browser: Browser) -> None:
    await browser.page("/chat/named")
    assert 'pattern="' not in await browser.page("/chat"), "no browser refuses what would be made a name"
    async with browser.session.post(f"{browser.url}/chat", data={"name": "漢字", "csrf": browser.csrf}) as answer:
        assert answer.status == 400
        assert "Choose another name" in await answer.text()


async def test_an_answer_can_be_stopped_and_what_was_seen_of_it_stays(browser: Browser, model: MessagesServer) -> None:
    async with browser.tab("stopped") as tab:
        model.hang(lambda request: "STOPPED" in request.all_text, after=3)
        await tab.says("My colour is STOPPED.")
        await tab.sees(lambda tab: tab.grown)
        await tab.presses(ABORT_ANSWER)
        await tab.sees(lambda tab: tab.replies)
        assert tab.replies[0].text.endswith("(stopped)")
        assert tab.grown[0] in tab.replies[0].text
        model.release()


async def test_what_is_said_meanwhile_shows_that_it_waits_and_two_tabs_show_the_same(
    browser: Browser, model: MessagesServer
) -> None:
    async with browser.tab("two") as tab, browser.tab("two") as other:
        model.hang(lambda request: "WAITED" in request.all_text, after=3)
        await tab.says("My colour is WAITED.")
        await tab.sees(lambda tab: tab.grown)
        await other.says("And what is my shape?")
        await tab.sees(lambda tab: any(line.waits for line in tab.lines))
        model.release()
        await tab.sees(lambda tab: len(tab.replies) == 2 and not any(line.waits for line in tab.lines))
        await other.sees(lambda other: [line.html for line in other.replies] == [line.html for line in tab.replies])
        assert other.texts == tab.texts


async def test_a_page_that_was_cut_off_shows_what_it_missed_once(browser: Browser) -> None:
    async with browser.tab("cut") as tab, browser.tab("cut") as other:
        await tab.asks("one")
        streams = tab.streams
        tab.cut()
        await other.asks("two")
        await tab.sees(lambda tab: tab.streams > streams and len(tab.replies) == 2)
        pages = [kind for kind, _ in tab.events].count("page")
        tab.cut()
        await tab.sees(lambda tab: tab.streams > streams + 1)
        await other.asks("three")
        await tab.sees(lambda tab: len(tab.replies) == 3)
        assert tab.texts == other.texts
        assert len({line.id for line in tab.lines}) == len(tab.lines)
        assert [kind for kind, _ in tab.events].count("page") <= pages + 1, "who has seen all of it is told nothing"


@pytest.mark.parametrize("key", ["short", "with spaces in it", "x" * 65])
async def test_a_key_that_is_none_is_refused_and_nothing_is_stored(browser: Browser, house: WebHouse, key: str) -> None:
    async with browser.tab(f"keys-{len(key)}") as tab:
        status, said = await tab.says("hello", key=key)
        assert (status, "8 to 64" in str(said)) == (400, True)
        await tab.asks("hello")
        assert [line.who for line in tab.lines] == ["person", "model"]


async def test_a_message_that_is_sent_again_is_one_message(browser: Browser, house: WebHouse) -> None:
    async with browser.tab("again") as tab:
        await tab.asks("only once", key="one-key-0001", files={"notes.txt": b"hello"})
        assert (await tab.says("only once", key="one-key-0001", files={"notes.txt": b"hello"}))[0] == 200
        assert await tab.asks("another")
        assert [line.who for line in tab.lines] == ["person", "model", "person", "model"]
        assert tab.lines[0].key == "one-key-0001"
    assert [path.name for path in (house.folder("again") / "files").iterdir()] == ["notes.txt"]
    assert len([*(house.folder("again") / ".uploads").iterdir()]) == 1


async def test_a_file_goes_in_and_the_model_is_shown_it_and_one_comes_out(
    browser: Browser, model: MessagesServer
) -> None:
    def sends_it_back(request: MessagesRequest) -> Reply:
        if "BACK" not in request.all_text:
            return remembering_brain(request)
        if "goes to the chat" in request.all_text:
            return Reply("Done.")
        return Reply("", [ToolCall("send_file", {"path": "files/Отчёт 图.txt", "caption": "As you *wished*."})])

    model.brain = sends_it_back
    async with browser.tab("files") as tab:
        await tab.says("Send it BACK.", files={"../../Отчёт 图.txt": "Привет".encode(), "cat.png": picture()})
        await tab.sees(lambda tab: len(tab.replies) == 2 and tab.lines[0].pictures)
        assert any("Привет" in record.request.all_text for record in model.requests)
        (name, url), (_, cat) = tab.lines[0].files
        assert name == "Отчёт 图.txt"
        assert await browser.saved(url) == ("Отчёт 图.txt", "Привет".encode())
        sent = next(line for line in tab.replies if line.files)
        assert sent.text == "As you wished."
        assert await browser.saved(sent.files[0][1]) == ("Отчёт 图.txt", "Привет".encode())
        status, headers, body = await browser.get(tab.lines[0].pictures[0])
        assert (status, headers["content-type"], body) == (200, "image/png", picture())
        assert headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert (await browser.get(f"{url}?shown"))[0] == 415
        assert cat.endswith("cat.png")


async def test_only_files_of_the_conversation_are_given_out(browser: Browser, house: WebHouse) -> None:
    async with browser.tab("mine") as tab:
        await tab.asks("here", files={"a.txt": b"mine", "evil.png": b"<svg xmlns='http://www.w3.org/2000/svg'/>"})
        (house.resources.settings.data_dir / "secret.txt").write_text("nobody's")
        folder = house.folder("mine")
        (folder / "files" / "out.txt").symlink_to(house.resources.settings.data_dir / "secret.txt")
        (folder / "trace.txt").write_text("not sent")
        for path in (
            "files/out.txt", "files/../trace.txt", "files/%2e%2e/trace.txt", "files/..%2f..%2f..%2fsecret.txt",
            "trace.txt", "%2fetc%2fpasswd", "files", "files/", "files/none", ".uploads", "files/%00", "files/%ff",
        ):  # fmt: skip
            status, _, body = await browser.get(f"/chat/mine/files/{path}")
            assert (status, b"nobody" in body) == (404, False), path
        assert (await browser.get("/chat/other/files/files/a.txt"))[0] == 404
        assert (await browser.get("/chat/mine/files/files/evil.png?shown"))[0] == 415
        assert (await browser.saved("/chat/mine/files/files/evil.png"))[0] == "evil.png"


async def test_what_is_too_much_is_refused_in_a_sentence_and_leaves_nothing(browser: Browser, house: WebHouse) -> None:
    async with browser.tab("much") as tab:
        large = b"x" * 300_001
        status, said = await tab.says("look", files={"small.txt": b"x", "large.bin": large, "last.txt": b"x"})
        assert (status, said["error"]) == (413, "large.bin is too large: at most 0 MB go.")
        status, said = await tab.says("look", files={f"{number}.txt": b"x" for number in range(11)})
        assert (status, said["error"]) == (413, "That are too many files: at most 10 go with one message.")
        assert (await tab.says("x" * 400_001))[0] == 413
        assert (await tab.says("  \n "))[0] == 400
        assert (await browser.post("much", {"press": "hello"}))[0] == 400
        assert not [*(house.folder("much") / ".uploads").iterdir()]
        assert not tab.lines


async def test_a_form_that_broke_off_is_refused(browser: Browser) -> None:
    await browser.page("/chat/broken")
    form = {"content-type": "multipart/form-data; boundary=b", "accept": "application/json"}
    begun = b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nhello'
    for body in (b"", b"--b\r\n", begun, b"\0\0"):
        headers = {**form, "x-csrf-token": browser.csrf}
        async with browser.session.post(f"{browser.url}/chat/broken", data=body, headers=headers) as answer:
            assert (answer.status, list(await answer.json())) == (400, ["error"])


NASTY = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) "
    "![y](http://e.example/y.png) [z](data:text/html,x) \x1b[31m"
)


async def test_nothing_that_somebody_writes_becomes_a_tag_or_runs(browser: Browser, model: MessagesServer) -> None:
    model.brain = lambda request: Reply(f"XSS {NASTY}") if "XSS" in request.all_text else remembering_brain(request)
    name = '"><script>alert(2)</script>.txt'
    async with browser.tab("nasty") as tab:
        model.hang(lambda request: "XSS" in request.all_text, after=3)
        await tab.says(f"XSS {NASTY}", files={name: b"x", "<img src=x onerror=alert(1)>.png": picture()})
        await tab.sees(lambda tab: tab.grown)
        model.release()
        await tab.sees(lambda tab: tab.replies and all(url for _, url in tab.lines[0].files))
        told = json.dumps(tab.events, ensure_ascii=False)
        told += await browser.page("/chat/nasty") + await browser.page("/chat")
    for line in tab.lines:
        tags = tags_of(line.html)
        assert not {tag for tag, _ in tags} & {"script", "iframe", "object", "svg"}
        assert not [known for _, known in tags if any(key.startswith("on") or key == "style" for key in known)]
        links = [known.get("href") or known.get("src") or "" for _, known in tags if {"href", "src"} & known.keys()]
        assert all(link.startswith(("/chat/nasty/files/", "http://e.example/")) for link in links), links
        assert "http://e.example/y.png" not in [known.get("src") for _, known in tags]
    assert "alert(1)" in tab.texts[0]
    assert "<script>alert" not in told
    assert "\x1b" not in told


async def test_a_message_of_another_site_does_nothing(browser: Browser) -> None:
    async with browser.tab("csrf") as tab:
        assert (await tab.says("no mark", headers={"X-CSRF-Token": ""}))[0] == 403
        assert (await tab.says("no mark", headers={"X-CSRF-Token": "0" * 64}))[0] == 403
        assert (await tab.says("elsewhere", headers={"Origin": "https://evil.example"}))[0] == 403
        assert (await tab.says("elsewhere", headers={"Sec-Fetch-Site": "cross-site"}))[0] == 403
        await tab.asks("the only one")
        assert [line.text for line in tab.lines if line.who == "person"] == ["the only one"]


async def test_whoever_has_not_logged_in_sees_and_does_nothing(house: WebHouse) -> None:
    async with Browser(house.url) as stranger:
        for path in ("/chat", "/chat/mine", "/chat/mine/stream", "/chat/mine/earlier", "/chat/mine/files/files/a.txt"):
            async with stranger.session.get(f"{house.url}{path}", allow_redirects=False) as answer:
                assert answer.status == 303, path
                assert answer.headers["location"].startswith("/login?next=")
        assert (await stranger.post("mine", {"text": "hello"}))[0] == 401


async def test_a_page_that_is_open_is_told_when_its_session_ends(house: WebHouse) -> None:
    async with Browser(house.url, PASSWORD) as browser, browser.tab("ended") as tab:
        async with browser.session.post(f"{browser.url}/logout", data={"csrf": browser.csrf}) as answer:
            assert answer.status == 200
        await tab.sees(lambda tab: tab.has_ended)
        assert (await tab.says("hello"))[0] == 401


async def test_whoever_writes_too_fast_is_told_so_and_can_stop_an_answer_all_the_same(browser: Browser) -> None:
    async with browser.tab("fast") as tab:
        statuses = [(await tab.says("/status"))[0] for _ in range(16)]
        assert statuses == [200] * 15 + [429]
        status, said = await tab.says("/status", files={"a.txt": b"x"})
        assert (status, said["error"]) == (429, TOO_FAST)
        assert (await browser.post("fast", {"press": "/abort"}))[0] == 200
        await tab.sees(lambda tab: len(tab.notices) == 16)


async def test_it_works_without_a_script(browser: Browser) -> None:
    html = await browser.page("/chat/plain")
    action = html.partition('id="composer" method="post" action="')[2].partition('"')[0]
    form = aiohttp.FormData({"key": "plain-key-1", "text": "Line one\r\nline two"})
    form.add_field("files", b"", filename="")
    async with browser.session.post(f"{browser.url}{action}", data=form, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["location"]) == (303, "/chat/plain#end")
    async with browser.tab("plain") as tab:
        await tab.sees(lambda tab: tab.replies)
        assert tab.texts[0] == "Line one\nline two"
    data = {"csrf": browser.csrf, "press": "/context"}
    async with browser.session.post(f"{browser.url}/chat/plain", data=data, allow_redirects=False) as answer:
        assert answer.status == 303
    async with browser.session.post(f"{browser.url}/chat", data={"csrf": browser.csrf, "name": " New-One "}) as answer:
        assert (answer.status, answer.url.path) == (200, "/chat/new-one")
    async with browser.session.post(f"{browser.url}/chat", data={"csrf": browser.csrf, "name": "///"}) as answer:
        assert answer.status == 400
        assert "small letters" in await answer.text()


async def test_earlier_lines_are_loaded_page_by_page(browser: Browser, house: WebHouse) -> None:
    here = Address("web", "earlier")
    async with house.resources.database.write() as tx:
        await agents.ensure(tx, here, now=1.0)
        for number in range(1, 121):
            await outbox.say(tx, here, f"notice {number}", now=float(number))
    async with browser.tab("earlier") as tab:
        assert tab.texts == [f"notice {number}" for number in range(71, 121)]
        texts, before = tab.texts, tab.before
        while before:
            status, _, body = await browser.get(f"/chat/earlier/earlier?before={before}")
            assert status == 200
            page = json.loads(body)
            texts = [line.text for line in lines_of(page["html"])] + texts
            before = page["before"]
        assert texts == [f"notice {number}" for number in range(1, 121)]
    html = await browser.page(f"/chat/earlier?before={tab.before}")
    assert [line.text for line in lines_of(html)][-1] == "notice 70"
    assert (await browser.get("/chat/earlier?before=x"))[0] == 400
    assert (await browser.get("/chat/Not A Name"))[0] == 404
