"""What a letter or a sign takes in every script but the Latin one: a rate by Unicode block. Pure.

Both tokenizer families know the same of these scripts, which is little: a common letter or a pair of letters is a
token, what is rare is spelled in bytes. The rates are fitted to texts of each script.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Letters:
    """Letters that make words together with their neighbours."""

    where: str
    """Ranges of code points in hexadecimal, or the letters themselves after ``=``. Later ones overrule earlier ones."""
    letter: float
    """Tokens of each."""
    word: float = 0.0
    """Of one that begins a word, beside that."""
    mark: float | None = None
    """Of a combining mark of the same block, as a vowel sign is; None: as a letter."""


@dataclass(frozen=True, kw_only=True)
class Signs:
    """Characters that stand for themselves."""

    where: str
    sign: float
    bordered: bool = False
    """Whether a single space beside it comes with it, as beside a word; else that is a token of its own."""


LETTERS = {
    "two bytes": Letters(where="0370-07FF", letter=2.4, word=0.4),
    "three bytes": Letters(where="0800-1DFF 2C00-2E7F A000-ABFF D7B0-F8FF FB00-FDFF FE70-FEFF FFF0-FFFF", letter=3.2),
    "Greek, rare": Letters(where="0370-03FF", letter=1.15, word=0.15),
    "Greek with breathings": Letters(where="1F00-1FFF", letter=2.2, word=0.15),
    "Greek": Letters(where="=αοιετσνηυρπκμλςωδγχθφβξζψ", letter=0.72, word=0.17),
    "Greek with accents": Letters(where="=άόίέήύώ", letter=0.56, word=0.17),
    "Greek capitals": Letters(where="=ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", letter=1.63, word=0.8),
    "Cyrillic, rare": Letters(where="0400-052F", letter=2.2, word=0.25),
    "Cyrillic capitals": Letters(where="0410-042F", letter=1.05, word=0.34),
    "Cyrillic capitals, western and southern": Letters(where="=ІЇЄҐЎЁЂЈЉЊЋЏЃЌЅ", letter=1.0, word=0.34),
    "Cyrillic, southern": Letters(where="=ђјљњћџѓќѕ", letter=0.74, word=0.25),
    "Armenian": Letters(where="0530-058F", letter=0.64, word=0.3),
    "Armenian capitals": Letters(where="0531-0556", letter=1.55, word=0.85),
    "Hebrew": Letters(where="0590-05FF", letter=0.77, word=0.23, mark=1.33),
    "Arabic, rare": Letters(where="0600-06FF", letter=2.8),
    "Arabic": Letters(where="=اوينملرتبعكدهسفقيحةجخشطصضذغزثظءؤئأإآى", letter=0.76),
    "Arabic points": Letters(where="064B-065F", letter=1.03),
    "Persian and Urdu": Letters(where="=یکگپچژہےھںڈٹڑۀە", letter=1.31),
    "Thaana": Letters(where="0780-07BF", letter=1.1, word=0.35),
    "Devanagari": Letters(where="0900-097F", letter=0.97, mark=0.5),
    "Bengali": Letters(where="0980-09FF", letter=0.83, word=0.24, mark=1.09),
    "Gurmukhi": Letters(where="0A00-0A7F", letter=2.53, word=0.94, mark=1.9),
    "Gujarati": Letters(where="0A80-0AFF", letter=0.96, word=0.24, mark=1.04),
    "Oriya": Letters(where="0B00-0B7F", letter=2.0, word=0.7, mark=1.5),
    "Tamil": Letters(where="0B80-0BFF", letter=0.59, word=0.5, mark=0.87),
    "Telugu": Letters(where="0C00-0C7F", letter=0.88, word=0.17, mark=0.96),
    "Kannada": Letters(where="0C80-0CFF", letter=2.08, word=0.71, mark=1.51),
    "Malayalam": Letters(where="0D00-0D7F", letter=1.16, word=0.43, mark=0.71),
    "Sinhala": Letters(where="0D80-0DFF", letter=1.0, word=0.3, mark=1.0),
    "Thai": Letters(where="0E00-0E7F", letter=0.71, word=0.93, mark=0.94),
    "Lao": Letters(where="0E80-0EFF", letter=1.43, word=0.39, mark=1.11),
    "Tibetan": Letters(where="0F00-0FFF", letter=1.28, word=0.45, mark=1.13),
    "Burmese": Letters(where="1000-109F", letter=1.15, word=0.37, mark=0.81),
    "Georgian": Letters(where="10A0-10FF", letter=0.7, word=0.48),
    "Hangul letters": Letters(where="1100-11FF 3130-318F", letter=2.0),
    "Ethiopic": Letters(where="1200-139F", letter=1.57, word=0.8),
    "Cherokee": Letters(where="13A0-13FF", letter=2.7, word=0.3),
    "Khmer": Letters(where="1780-17FF", letter=1.0, word=0.33, mark=1.11),
    "Hiragana": Letters(where="3040-309F", letter=0.61, word=0.3),
    "Katakana": Letters(where="30A0-30FF FF66-FFEF", letter=0.92, word=0.27),
}

CYRILLIC = {
    "consonant": "бвгджзйклмнпрстфхцчшщъь",
    "vowel": "аеиоуыэюя",
    "western": "іїєґўё",
}
"""Cyrillic is known well enough that, as with Latin letters, it tells what a letter comes after."""
CYRILLIC_START = {"consonant": 0.91, "vowel": 0.65, "western": 1.9}
CYRILLIC_AFTER = {
    "capital": {"consonant": 0.58, "vowel": 0.48, "western": 0.37},
    "consonant": {"consonant": 0.06, "vowel": 0.11, "western": 0.0},
    "vowel": {"consonant": 0.56, "vowel": 0.09, "western": 1.39},
    "western": {"consonant": 0.46, "vowel": 0.43, "western": 0.31},
}
CYRILLIC_END = {"consonant": 0.88, "vowel": 0.0, "western": 0.53}
"""Beside that, of ending a word with it after another."""


def cyrillic() -> list[float]:
    """All rates of Cyrillic letters in a row: of a start, after each of four, of an end, each by kind of letter."""
    rows = (CYRILLIC_START, *CYRILLIC_AFTER.values(), CYRILLIC_END)
    return [row[name] for row in rows for name in CYRILLIC]


SIGNS = {
    "signs of Latin-1": Signs(where="00A1-00BF 00D7 00F7", sign=1.15, bordered=True),
    "combining": Signs(where="20D0-20FF", sign=2.0),
    "punctuation": Signs(where="200B-206F", sign=2.6, bordered=True),
    "format": Signs(where="=\u200b\u200c\u200e\u200f\u2060\ufeff", sign=1.9, bordered=True),
    "frequent": Signs(where="=—–…•„“”‘’«»°£§", sign=1.0, bordered=True),
    "symbols": Signs(where="2070-20CF 2100-22FF 2400-2BFF", sign=3.1, bordered=True),
    "technical symbols": Signs(where="2300-23FF", sign=3.2, bordered=True),
    "joiner": Signs(where="200D", sign=2.2),
    "variation": Signs(where="FE00-FE0F", sign=0.8),
    "Arabic marks": Signs(where="=،؛؟۔", sign=1.14, bordered=True),
    "Arabic digits": Signs(where="0660-0669 06F0-06F9", sign=1.08),
    "digits of India": Signs(where="0966-096F 09E6-09EF 0A66-0A6F 0AE6-0AEF 0BE6-0BEF 0C66-0C6F 0D66-0D6F", sign=1.0),
    "dandas": Signs(where="0964-0965", sign=1.18, bordered=True),
    "killers of vowels": Signs(
        where="094D 09CD 0A4D 0ACD 0B4D 0BCD 0C4D 0CCD 0D4D 0DCA 1037 1039 103A 17D2", sign=1.5, bordered=True
    ),
    "tones and dots": Signs(
        where="093C 09BC 0A3C 0ABC 0B3C 0CBC 0E47-0E4C 0E4E 0EC8-0ECC 0F0B", sign=1.27, bordered=True
    ),
    "Chinese marks": Signs(where="3000-303F FE10-FE6F FF00-FF65", sign=0.9),
    "Chinese": Signs(where="2E80-2FFF 3100-312F 3190-9FFF F900-FAFF", sign=2.07),
    "Chinese, frequent": Signs(where="", sign=1.0),
    "Korean": Signs(where="AC00-D7AF", sign=1.04),
    "emoji": Signs(where="1F1E6-1F1FF 1F300-1F3FF 1F440-1F4FF 1F600-1F6FF 1F900-1FAFF", sign=2.35),
    "emoji, rare": Signs(where="1F000-1F1E5 1F200-1F2FF 1F400-1F43F 1F500-1F5FF 1F700-1F8FF", sign=4.1),
    "four bytes": Signs(where="10000-1EFFF 1FB00-1FFFF", sign=3.5),
}
FREQUENT_CHINESE = (
    "一七万三上下不与专且世业东両两严並个中串临为主举久么义之九也习书买了予事二于云互五些交产享人什今介从他付代令以"
    "们件价任份休优会传估似但位低住体何余作你使來例供依価便係促保信修個們候借値值假做停健側備储働像價償優允元充先免"
    "児入內全八公六共关其具典内册再写决况准几処出击函分切划列则创初删判別利别到制則削前創力办功加务动助努労効势動務"
    "包化区医區十千升午半协協单南単占印即却历压原去参參又及友双反发取受变口另只可台史号各合同名后向否含听启告员周味"
    "命和品响員售商問善單器四回因团団围固国图國團土在地场址均块型域執基報場填境増增声处备変复外多够大天太失头套女好"
    "如始威子字存学學它守安完官定实実审客害家容密富實審对导対専将將專對導小少就局层居展属層工差己已布师希带常干平年"
    "并广序库应底府废度康建开异式引张張強强归当录形影役往径待很律後従得從復循微德心必志応快念态思急性总息您情想意感"
    "態應成我或战户房所手才打托执找承技把投択护报担择括持指按损换据授排採接控推措描提插換握援播操據支收改放政故效救"
    "教散数整數文料断新方於施族无日早时明易星是显時普景更書替最會月有服望期木未末本术机权李束条来板极构析果架某染查"
    "査标树校样核根格框案档條械检検業概構様標模権横機權次止正此步死残段母每比民気水永求池污決没治況法注活流测济消深"
    "混添清済測満源準演激火点為無然照父片版物特状独献率环现現理生產産用由申电男画界留略番異當病療発登發白百的益监目"
    "直相省看真着知短码研破础确確示社神票福离私种科称移程種空立站章童端競符第等答签简算管節範築类精系約純級素索細終"
    "組経結給統經継続維網総締編績織續约级线组细织终经结给络统继续维编网置署美群義習老考者而职联職育背能自至致與般良"
    "色节若英范获落著處行術补表被装補複西要見規視親见观规视览角解言計討託記設許註証評試話該認語說説読課調請論講證識"
    "議護變计认让议记许论设访证评识词译试话询该语误说请读课调象負財責買費資質负财责败费资走起超越足路践身転較載转软"
    "载较输込达过运近返还这进远违连述追送适选透递途這通速造連週進過道達違適選避還那部都配采释里重野量金録针银链销错"
    "键長长門開間関關问间队际降限除险階随際障險难集離難電需非面音項順須預領題額願類页项须预领题额風食首験马验體高默"
    "點"
)
"""Characters that are one token; every other one is spelled in two or three."""
