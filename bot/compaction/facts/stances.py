"""The words that mark how a sentence is meant: as a wish to keep a task, a thought, a condition, a rule's end. Pure.

They are written as in :mod:`bot.compaction.facts.cues`.
"""

from __future__ import annotations

from bot.compaction.facts.cues import cue

KEEPING = cue(
    """
    (?:do_not|don['’]?t|never|won['’]?t|will_not|not|no_need)_(?:(?:to|ever|yet|please|you|dare)_){0,2}(?:cancel|drop|forget|scrap)
    (?:do_not|don['’]?t|never|won['’]?t|will_not|not|no_need)_(?:(?:to|ever|yet|please|you|dare)_){0,2}(?:skip|abandon|remove|delete)
    не_(?:надо_|нужно_|стоит_|вздумай_|будем_|буду_)?(?:отмен|забу?д|забы|снима|удал|выч[её]рк|отказ|аннулир|брос)\\w*
    нельзя_отмен\\w+
    """,
    anywhere="(?:不要|不用|不必|不能|不想|不许|不需要|先别|别|勿|不)(?:再|把.{0,8})?(?:取消|退|忘|删|撤|放弃)",
)
"""What asks to leave a task as it is, with words that would take it back."""

SUPPOSITION = cue(
    """
    suppose supposing imagine hypothetically might maybe perhaps possibly could would
    (?:should_(?:the|we|i|it|they|he|she|my|our|this|that))(?=.*\\?)
    (?<!не_)может возможно наверное ли вдруг допустим было_бы
    """,
    anywhere="是否 也许 可能 会不会 假设",
)
"""What is only thought of: it changes nothing."""

CONDITION = cue(
    """
    what_if (?<!as_)if(?!_(?:possible|needed|that['’]?s|you_(?:can|could|would|don['’]?t_mind)|i['’]?m_not)) если falls
    """,
    anywhere="如果 要是 假如 万一",
)
"""What holds only if something else does."""

ASKED_FOR = cue(
    """
    (?:can|could|would|will)_you would_(?:like|love|prefer|rather|be_(?:great|good|nice|better)) please
    не_мог(?:ли|л|ла)?_бы можешь можете пожалуйста хотел\\w?_бы
    """,
    anywhere="请 麻烦 能不能 可不可以 帮我",
    ends="(?:,_|，)(?:ok|okay|right|please|thanks|хорошо|ладно)\\? 好吗？ 好吗\\? 可以吗？ 行吗？ 好不好？",
)
"""A request, in the form of a question or a wish."""

LIFTING = cue(
    """
    (?:may|can|could|should|are_allowed_to|are_free_to)_(?:now_)?(?:\\w+_){1,8}(?:again|now|any_?time|after_all)
    (?:you|they|we)_(?:may|can)_now (?:you|they|we)_may
    (?:is|are|it['’]?s)_(?:now_)?(?:fine|ok|okay|allowed|alright|all_right)
    no_longer_(?:a_)?(?:forbidden|banned|off_limits|rule) feel_free_to you_can_(?:\\w+_){1,8}again
    можно теперь_можно разреша\\w+ снова_можно разрешено
    """,
    anywhere="可以.{1,20}了 又可以 现在可以 允许 没关系",
)
"""What was forbidden is allowed."""

STOPPING = cue(
    """
    stop quit no_longer enough_(?:of|with) cease need_not
    (?:don['’]?t|do_not|needn['’]?t)_(?:have_to|need_to)
    (?:don['’]?t|do_not|not)_(?:\\w+_){1,8}(?:any_?more|any_?longer) (?:forget|drop|ignore)_the_rule
    перестань(?:те)? хватит прекрати(?:те)? больше_не не_обязательно необязательно
    """,
    anywhere="别再 不用再 不必再 不要再 停止 不用总 不必",
)
"""What was to be done is to be done no more."""

FORBIDDING = cue(
    """
    never do_not don['’]?t must_not mustn['’]?t no not nothing avoid forbidden refrain cannot can['’]?t may_not
    off.limits without
    нельзя никогда не нет без запрещ\\w+
    """,
    anywhere="不 别 禁止 勿 绝不 没",
)
"""A rule that says what not to do."""
