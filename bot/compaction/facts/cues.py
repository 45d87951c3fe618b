"""The words that mark a sentence: as a rule, a decision, a request, small talk, a correction, a task taken back. Pure.

English, Russian and Chinese, and some marks of German, Spanish and French. In the lists, words are separated by white
space, ``_`` stands for a space, and each is a regular expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cue:
    """Any of some words."""

    pattern: re.Pattern[str]

    def marks(self, text: str) -> bool:
        """Whether one of them is in the text, in whatever case."""
        return self.pattern.search(text.lower()) is not None


def cue(words: str, *, anywhere: str = "", begins: str = "", ends: str = "") -> Cue:
    """``words`` stand by themselves; ``anywhere`` also inside of words, as Chinese is written."""
    parts = [rf"\b(?:{_either(words)})\b"] if words.strip() else []
    parts += [_either(anywhere)] if anywhere.strip() else []
    parts += [rf"^(?:{_either(begins)})"] if begins.strip() else []
    parts += [rf"(?:{_either(ends)})[.!]*\Z"] if ends.strip() else []
    return Cue(re.compile("|".join(parts)))


def _either(words: str) -> str:
    return "|".join(word.replace("_", " ") for word in words.split())


RULE = cue(
    """
    must(?:n['’]t)? never always do_not don['’]?t_(?!know|think|see|worry|have|mind|understand|remember) only
    at_(?:most|least) no_(?:more|less|fewer|later|earlier|sooner|longer)_than make_sure be_sure_to ensure avoid
    should(?:n['’]t)? unless under_no_circumstances stick_(?:to|with) from_now_on going_forward not_allowed forbidden
    off.limits refrain required? mandatory ha(?:s|ve)_to needs?_to_(?:be|stay|fit|run|work) (?:is|are)_to_be
    (?:can(?:no|['’])t|cannot)_(?:be|exceed|go|use|do|eat|fly|drive|attend|work|stand) may_not up_to
    max(?:imum)? minimum
    deadline due_(?:by|on|date) budget limit(?:ed)?_(?:is|to|of) cap(?:ped)?_at within_\\d rules?_(?:is|of) policy
    spend afford prefer(?:s|red|ence|ably)? rather_(?:have|not|than) i(?:['’]d)?_(?:like|love|hate|dislike)
    allerg\\w+ intolerant vegetarian vegan gluten favou?rite hates? likes
    please_(?:keep|use|stick|refer|call|answer|reply|respond|write|format|remember|don['’]t)
    keep_(?:it|the|your|all|every|answers|replies|in_mind|away|to) remember call_me address_me
    (?:answer|reply|respond|write)_(?:me_)?in stay_away leave_\\w+_\\w+_\\w*_?alone hands_off
    whatever_(?:you_do|happens)
    important critical crucial essential instead_of except without nothing_(?:over|above|under) as_little
    refuse insist
    non.?negotiable deal.?breaker not_available no_(?:\\w+_){1,3}(?:before|after|on)
    нельзя никогда всегда только обязательно долж(?:ен|на|но|ны) кроме максимум минимум бюджет\\w* срок\\w*
    дедлайн\\w*
    не_(?:надо|нужно|более|менее|больше|меньше|позже|раньше|трогай|меняй|используй|удаляй|забудь|забывай|пиши|ем|пью)
    не_\\w{3,20}й(?:те)? предпочита\\w+ люблю ненавижу аллерги\\w+ запрещ\\w+ важно старайся отвечай(?:те)?
    называй зови
    пиши(?:те)? без лимит предел
    muss müssen niemals immer nur ohne höchstens mindestens darf dürfen bitte_nicht
    nunca siempre solo sólo sin jamais toujours seulement sans ne_pas
    """,
    anywhere="""
    必须 不要 不能 不得 不许 不可 禁止 只能 只要 务必 一定 最多 至少 不超过 不少于 千万 仅限 总是 永远 别
    预算 截止 期限 上限
    偏好 喜欢 更想 讨厌 过敏 请用 请保持 尽量 从现在起 以后 记住 绝不 不吃 素食 优先 应该
    """,
)

DECISION = cue(
    """
    decid\\w+ decision agreed settled_(?:on|for) ch(?:o|oo)sen? opted_for opt_for
    (?:go|going|went)_(?:with|for|ahead_with) let['’]?s_(?:use|go|take|stick|keep|do|make|call)
    we(?:['’]ll|_will|['’]re_going_to)_(?:use|go|take|keep|run|host|ship|do|be)
    i(?:['’]ll|_will)_(?:use|go|take|pay|have)
    picked pick(?:ing)? signed_off approved the_plan_is finali[sz]ed concluded conclusion selected ruled_out
    switch(?:ed|ing)?_to moving_to standardi[sz]e\\w* confirmed verdict
    реш(?:или|ил|ила|ено|ение) договорились выбрали выбрал\\w? остановились будем бер[её]м пусть_будет утвердили
    """,
    anywhere="决定 选择了 选定 确定 同意 定下 就用 采用 商定 敲定",
)

REQUEST = cue(
    """
    i(?:['’]d|_would)_(?:like|love) i(?:['’]m|_am)_(?:looking|trying|planning|going|hoping|interested)
    i_(?:want|need|wish|plan|have_to) we_(?:want|need|have_to|plan) (?:can|could|would|will)_you help_(?:me|us) please
    my_(?:goal|aim|task|plan) goal task to-?do next(?:_step)?_(?:is|we) let['’]?s
    хочу хотим хотел\\w?_бы нужно надо помоги(?:те)? сделай(?:те)? пожалуйста давай(?:те)? найди(?:те)? напиши(?:те)?
    забронируй(?:те)? закажи(?:те)? подготовь(?:те)? составь(?:те)? проверь(?:те)? мне_нуж\\w+ цель задача планиру\\w+
    можешь можете
    """,
    anywhere="我想 我们想 请 帮我 我要 我们要 我需要 需要 麻烦 能不能 可以帮 目标 任务 打算 计划",
    begins="""
    (?:also,?_|then_|and_|now_|next,?_|first,?_)?(?:book|find|write|create|add|fix|build|make|send|schedule|set|update)_
    (?:also,?_|then_|and_|now_|next,?_|first,?_)?(?:change|check|order|prepare|draft|plan|arrange|reserve|remind|buy)_
    (?:also,?_|then_|and_|now_|next,?_|first,?_)?(?:translate|summari[sz]e|implement|refactor|run|deploy|install|get)_
    (?:also,?_|then_|and_|now_|next,?_|first,?_)?(?:investigate|review|design|compare|show|look|organi[sz]e|remove)_
    (?:also,?_|then_|and_|now_|next,?_|first,?_)?(?:delete|cancel|upgrade|move|rename|convert|calculate|explain|ship)_
    """,
)

OWN = cue(
    """
    i(?:['’][mv]e?)? my mine we our ours me us я мы мой моя моё мои наш\\w? у_меня у_нас меня нам мне
    (?:the|its|his|her|their)_[^.!?]{2,60}_(?:is|are|was|were|will_be|has|lives?|runs?|costs?)
    """,
    anywhere="我 我们 咱 是 在 叫 有",
)
"""A statement about somebody's or something's own state."""

FINDING = cue(
    """
    found caus(?:e|ed) because turned_out turns_out root due_to fails? works? fixed done complet\\w+
    success\\w* booked
    sent created updated cancel\\w+ noted note_that for_the_record recorded saved located lives_(?:in|at)
    stored listens
    runs_on is_set total remember shows? supports?
    причин\\w потому найден\\w? готово сделано исправлен\\w? записал\\w? учту запомнил\\w?
    """,
    anywhere="因为 原因 发现 完成 已经 记下 记住了 成功",
)

_COURTESY = """
    thanks? thank_you thx great ok(?:ay)? sure yes yep yeah no nope hi hello hey perfect awesome nice cool good got_it
    fine alright sounds_good of_course certainly absolutely exactly right please go_ahead go_on proceed correct
    that['’]?s?_(?:right|correct|all|fine)
    спасибо да нет хорошо ладно ок привет понятно отлично конечно 好的? 谢谢 是的? 嗯 可以 行 你好 对
"""

TALK = cue(
    """
    let_me_know would_you_like (?:is|was)_there_anything anything_else how_(?:can|may|else) feel_free happy_to_help
    glad_to you['’]?re_welcome have_a_(?:great|nice|good) i_apologi[sz]e i['’]?m_sorry one_moment
    could_you_(?:please_)?(?:provide|confirm|tell|share)
    (?:i_(?:can|will|could)|i['’]ll)_(?:now_|also_|certainly_)?(?:assist|help|look|check|proceed|retrieve|search|transfer)
    please_(?:provide|confirm|let|hold|wait) do_you_(?:want|have|need) to_(?:assist|help)_you thank_you
    дайте_знать чем_(?:ещё|еще) хотите
    """,
    anywhere="请问 如果您 需要我 还有什么",
    begins=rf"""
    let_me allow_me i_understand no_problem here_(?:is|are)\b to_(?:proceed|assist|help|continue)\b
    \W*(?:(?:{_either(_COURTESY).replace(" ", "_")})\b\W*){{1,6}}[^.!?\d]{{0,40}}$
    """,
)
"""Courtesies, offers, questions back."""

IGNORANCE = cue(
    """
    i_(?:do_not|don['’]?t|cannot|can['’]?t)_(?:know|see|find|recall|remember|have_(?:any|that|this|the)) i_have_no
    i['’]?m_not_sure no_idea не_знаю не_помню не_вижу у_меня_нет
    """,
    anywhere="我不知道 我不清楚 不记得 没有找到",
)
"""The model has no answer."""

CORRECTION = cue(
    """
    actually correction make_(?:that|it) change_of_plans? changed_(?:to|from|my|our|it) changed_\\w+_minds?
    change_(?:it|that|this|the|my|our)
    (?:has|have|was|were|is|are|been|got|gets)_(?:\\w+_)?(?:moved|changed|postponed|pushed|extended|shifted|raised|lowered)
    (?:has|have|was|were|is|are|been|got|gets)_(?:\\w+_)?(?:cut|bumped|updated|increased|decreased|reduced|delayed)
    brought_forward moved_(?:to|up|back|from) rescheduled postponed push(?:ed)?_(?:it|that|the|back|to) instead
    rather_than
    scratch_that on_second_thou?ght i_meant i_misspoke my_mistake (?:was|were|am)_wrong
    not_\\S+(?:_\\S+)?,?_but no_longer
    any_?more from_now_on now_(?:it|we|the|i|is) is_now are_now will_now as_of became it_now we_now i_now
    \\w+_now_\\w+s
    re(?:set|booked|named|placed|assigned|located|negotiated|issued|ordered|considered|designed|did|built) now
    new wrong
    these_days different another other_than after_all since quit changed? moved? mistake misread incorrect
    right_\\w+_is
    down_to up_to_now from_(?:today|tomorrow|monday|next|this) goes_to use_.{1,60}_from_now
    (?:went|go(?:es)?|gone)_(?:up|down) (?:grew|rose|fell|dropped|climbed|shrank|raised|lowered|cut|extended)_to
    new_(?:\\w+_){1,3}is updated?_(?:to|the) replac(?:e|ed|ing) switch(?:ed|ing)? revis\\w+ up_from down_from
    previous(?:ly)? we_(?:can|could)_(?:now_)?go_(?:up|down) drop(?:ped|ping)?_.{1,40}_(?:for|in_favou?r)
    in_favou?r_of
    turns_out (?:said|told_you)_.{1,40}_but let['’]?s_(?:do|say|make|switch)
    на_самом_деле точнее поправка вернее вместо перен[её]с\\w* сдвину\\w* измени\\w* поменя\\w* теперь уже_не
    больше_не
    передумал\\w? стал[аои]? вырос\\w* исправ\\w+ ошиб\\w+ обнов\\w+ а_не увелич\\w+ уменьш\\w+
    нов(?:ый|ая|ое|ые|ого|ой) друг(?:ой|ая|ое|ие|ого) смени\\w+ сегодня отныне урез\\w+ перее\\w+ замен\\w+
    не_\\S+,_а
    """,
    anywhere="""
    其实 更正 改成 改为 改到 改用 换成 变成 推迟 提前 不是 而是 现在 调整 更新 不再 说错 更改 延期 替换
    增加到 减少到 提高到
    降到 移到 改一下 新的 换了 变了 变动 改了 写错 弄错 错了 从今天起 以后 减少 增加 应该是 不一样
    """,
    begins="(?:no|wait|oops|hmm|sorry|update|ah|oh|нет)\\b",
    ends="\\bnow \\binstead",
)

RETRACTION = cue(
    """
    (?:do_not|don['’]?t|no_longer|won['’]?t)_(?:really_|actually_)?(?:need|want|require|bother)
    no_longer_(?:needed|necessary|required|relevant|wanted) never_?mind
    forget_(?:about_)?(?:the|that|my|it|what) scrap
    drop_the scratch_the skip_the call(?:ed)?_off not_(?:needed|necessary|required)_any_?more
    isn['’]?t_(?:needed|necessary|required) leave_out_the abandon hold_off_on we_can_(?:drop|skip|forget|leave)
    off_the_(?:table|list) no_(?:\\w+_){1,3}at_all
    больше_не_(?:нуж\\w*|надо|требуется|актуал\\w+|хо\\w+) не_(?:нужн?[аоы]?|надо|понадобится) забудь(?:те)?_(?:про|о)
    отбой неактуал\\w+ передумал\\w*
    """,
    anywhere="不需要 不用 算了 不要了 别管 作罢 不必",
)

ENDING = cue(
    """
    no not none never cannot off moot void lapse[sd]? obsolete pointless unnecessary need_no n['’]t won['’]?t
    isn['’]?t
    don['’]?t doesn['’]?t didn['’]?t aren['’]?t can['’]?t without stop(?:ped)? quit ended over fell_through
    leave_\\w+_be
    drop(?:ped)? ditch\\w* kill(?:ed)? shelve\\w* axe[d]? withdr[ae]w\\w* revoke\\w* abandon\\w* skip(?:ped)? scratch
    strike cross(?:ed)? remove[d]? omit scrap(?:ped)? forget refus\\w+ declin\\w+ reject\\w+ gave_up
    giv(?:e|ing)_up mind
    already any_?(?:more|longer) after_all changed_\\w+_minds? too_late settled resolved itself else(?:where)?
    spare yourself nobody nothing disregard ignore
    не нет ни нечего незачем никто никому ничего отмен\\w+ отказ\\w+ отпал\\w* отпада\\w+ отбой брось оставь убери
    сними снято снимаем вычеркни вычёркива\\w+ забудь аннулир\\w+ передумал\\w* хватит стоп поздно уже без отозва\\w+
    """,
    anywhere="不 没 无 别 算了 取消 作废 撤 放弃 免了 删掉 去掉 划掉 停 终止 搁置 忘了 过时 用不着 退 已经",
)
"""What may say that nobody wants something any more, if it speaks of it at all."""

CANCELLING = cue("cancel(?:led|ed|s)? отмен\\w*", anywhere="取消")

COMPLETION = cue(
    """
    done completed? finished successfully has_been have_been is_now i['’]ve i_have all_set booked sent created fixed
    resolved taken_care_of sorted
    """,
    anywhere="готово сделано выполнено заброниров отправлен исправлен 已经 完成 搞定 好了",
)

DOUBT = cue(
    """
    not n['’]t cannot unable will would could can once before if when after should fail\\w* error to_be не если когда
    """,
    anywhere="\\? n['’]t 不 没",
)
"""What keeps a report from being one: a condition, a plan, a failure."""
