"""Rates of the tokenizers of other makers, fitted like those of Claude's to counts of the tokenizers that they publish.

Read when a model of theirs is first counted. Pure.
"""

from __future__ import annotations

from bot.estimate.rates import Rates

O200K = Rates(
    letters="""
^ 6408B263B7DD8D91501B310064 .
a A004V670D0B6B8A0H30503IH9K 7
b 0R00AM2001P0K330F01013800E K
c I00M0O0A1001HN0HF000E93460 A
d 04O02M0H308000000L5E9K0pIP 0
e 0020J0fN20J0400200067300X0 5
f 000F80Lg0nf000DGBT000GF45M 4
g C0Qm0u1J420AAIGD603B6BUI6A 3
h 00HG0Y043CH0607CR600HB2400 2
i 1472816VP0B400060B06T0UDB0 9
j IBl00O0pIB0HS0NIAA0CCJ04b0 N
k 00j90M0T5G0TQLBU3J1H0EBAHB 6
l 2F000A6009P00H450I6G40P10A 5
m 4KV0300m0PW02R90EJ0A0jC10j 2
n 7K0067003600F050Rs00300c5U 4
o 0600P02D5019F070L08901016H 7
p 8V00102H65I04000O1033et00B 1
q 090AcB5El6B00BO00zAQ02105B P
r A70300005B0300000080FD6J0C 4
s CK6H59SGBNJ00391d000000600 0
t 5e0008A00D7J0E02B0HE00FK1Q 4
u FBBN574NDZ9109Z0009000M6H4 D
v 00CK0Y0K10EGBD0IUCFSWPUbPJ C
w 9SF0C1700BM1H00NK00URLDC4C 0
x D90Q07UH040S3Uu090E0DBjP3K 8
y 250KI007DAJeeD00Qu07pK03A3 0
z 0007K0BMA0G0316NFd20200B90 D
* 2C0DPXEEEFA03600D9F0D0Ba00 .
""",
    capital=0.01,
    single=0.14,
    inner=0.58,
    further=0.38,
    after_digit=0.37,
    before_digit=0.0,
    apostrophe=0.46,
    mark=0.66,
    joined=0.06,
    apart=0.51,
    same=0.04,
    again=0.07,
    unclosed=0.12,
    accent_first=0.38,
    accent_last=0.27,
    further_digit=0.1,
    closing_line=0.36,
    indent=0.95,
    accents={
        "other": 1.82,
        "capital": 1.17,
        "phonetic": 1.52,
        "combining": 1.61,
        "Vietnamese": 0.0,
        "acute": 0.6,
        "grave": 1.19,
        "Iberian": 0.69,
        "German": 0.48,
        "Nordic": 0.85,
        "Czech": 1.07,
        "Polish": 0.59,
        "Turkish": 0.32,
        "Romanian": 0.54,
        "Hungarian": 0.0,
        "Baltic": 0.89,
    },
    scripts={
        "two bytes": [1.68, 0.28, 0.0],
        "three bytes": [3.02, 0.0, 0.0],
        "Greek, rare": [1.68, 0.87, 0.0],
        "Greek with breathings": [2.52, 0.52, 0.0],
        "Greek": [0.27, 0.02, 0.0],
        "Greek with accents": [1.04, 0.7, 0.0],
        "Greek capitals": [1.29, 0.29, 0.0],
        "Cyrillic, rare": [0.86, 0.0, 0.0],
        "Cyrillic capitals": [0.4, 0.0, 0.0],
        "Cyrillic capitals, western and southern": [8.0, 0.58, 0.0],
        "Cyrillic, southern": [0.0, 0.22, 0.0],
        "Armenian": [0.08, 1.1, 0.0],
        "Armenian capitals": [1.62, 1.84, 0.0],
        "Hebrew": [0.44, 0.11, 0.55],
        "Arabic, rare": [1.97, 0.0, 0.0],
        "Arabic": [0.36, 0.0, 0.0],
        "Arabic points": [0.0, 0.0, 0.0],
        "Persian and Urdu": [0.62, 0.0, 0.0],
        "Thaana": [2.06, 0.38, 0.0],
        "Devanagari": [0.3, 0.0, 0.45],
        "Bengali": [0.0, 0.07, 1.21],
        "Gurmukhi": [1.08, 0.0, 0.0],
        "Gujarati": [0.55, 0.0, 0.0],
        "Oriya": [1.4, 0.49, 1.05],
        "Tamil": [0.0, 1.18, 0.0],
        "Telugu": [0.15, 0.24, 1.0],
        "Kannada": [0.0, 0.43, 0.89],
        "Malayalam": [0.0, 0.72, 0.01],
        "Sinhala": [0.7, 0.21, 0.7],
        "Thai": [0.39, 0.0, 0.98],
        "Lao": [2.19, 0.51, 1.04],
        "Tibetan": [1.88, 0.8, 1.28],
        "Burmese": [0.0, 1.6, 0.64],
        "Georgian": [0.0, 2.59, 0.0],
        "Hangul letters": [1.4, 0.0, 0.0],
        "Ethiopic": [1.99, 0.58, 0.0],
        "Cherokee": [3.11, 0.44, 0.0],
        "Khmer": [0.3, 0.47, 1.01],
        "Hiragana": [0.48, 0.94, 0.0],
        "Katakana": [0.61, 0.0, 0.0],
        "signs of Latin-1": [1.98],
        "combining": [1.4],
        "punctuation": [3.98],
        "format": [0.0],
        "frequent": [0.43],
        "symbols": [1.9],
        "technical symbols": [1.15],
        "joiner": [4.2],
        "variation": [1.26],
        "Arabic marks": [0.81],
        "Arabic digits": [0.42],
        "digits of India": [0.0],
        "dandas": [1.18],
        "killers of vowels": [1.0],
        "tones and dots": [0.0],
        "Chinese marks": [0.0],
        "Chinese": [1.79],
        "Chinese, frequent": [0.68],
        "Korean": [0.45],
        "emoji": [0.95],
        "emoji, rare": [1.38],
        "four bytes": [4.08],
        "Cyrillic": [
            1.56,
            1.37,
            0.39,
            1.93,
            2.15,
            2.34,
            0.02,
            0.08,
            0.0,
            0.01,
            0.26,
            0.84,
            0.93,
            0.35,
            0.96,
            0.0,
            0.0,
            0.24,
        ],
    },
)
GEMINI = Rates(
    letters="""
^ 7308F2A1C8DFAFA2059A6402AC .
a G234WNA0E0A2A7P3O50605IM9L 9
b 0H007AI200K0A2B0A40076J0BH F
c A1060K0B10063G0FC010J9B500 5
d 0082001T307060000V2CA0TR6X 0
e 3000M4WI43M030050009D440LG 5
f 001OA6FQ9La0KC4N7K000JJ51E 3
g C0OZ2S0E75084GECH06QIAH304 3
h 00WK0dH37HEE902CG000IMP6JD 1
i 0A00184JN0E000000A09c0WAM0 4
j AIa0040fHGGMICOM570H5A13g3 K
k 0FPO0HDU7IDLYFGG250944G94H 5
l 1D0005F504Z0B5600CD8J0iA24 B
m 1JRD020tANP0HQ907D0J4ZA30S 7
n 7M00300016309B10Qt0079OI69 4
o GA00I08PD0445030Y465020D0U 7
p 6P0300906EK030009002Adm008 7
q IB0CS69En6700AU0HbEI05A298 N
r 450500303N00B000040175EM00 0
s AO4Q57FFC7P00D00GF30000400 0
t 3C0010E00I240Q0AF0I580NI0H 4
u 851C547EGW721AF0A01080S000 A
v 002I0MEJ00FMC90GNUDKgDEMU6 E
w 6FH0D4G014J0E10KDO0EaENCHE 0
x 790L03S8090E8Oh0B3B2B9EN6F B
y 0D0PG00GCGAPcN25Ml00dQ03N7 0
z 0000E1KGF04020D7Fb00404D20 6
* DW0PKnGXKMPC7600uFI4K0IX30 .
""",
    capital=0.0,
    single=0.03,
    inner=0.49,
    further=0.36,
    after_digit=0.56,
    before_digit=0.0,
    apostrophe=0.86,
    mark=0.83,
    joined=0.0,
    apart=0.3,
    same=0.0,
    again=0.0,
    unclosed=0.0,
    accent_first=0.53,
    accent_last=0.68,
    further_digit=1.0,
    closing_line=1.09,
    indent=1.04,
    accents={
        "other": 1.14,
        "capital": 0.58,
        "phonetic": 1.02,
        "combining": 1.04,
        "Vietnamese": 0.03,
        "acute": 0.29,
        "grave": 0.82,
        "Iberian": 0.58,
        "German": 0.21,
        "Nordic": 0.92,
        "Czech": 0.65,
        "Polish": 0.07,
        "Turkish": 0.15,
        "Romanian": 0.0,
        "Hungarian": 0.0,
        "Baltic": 0.75,
    },
    scripts={
        "two bytes": [1.68, 0.28, 0.0],
        "three bytes": [1.58, 1.38, 0.0],
        "Greek, rare": [1.1, 0.39, 0.0],
        "Greek with breathings": [1.56, 0.11, 0.0],
        "Greek": [0.3, 0.0, 0.0],
        "Greek with accents": [0.92, 0.5, 0.0],
        "Greek capitals": [1.31, 0.58, 0.0],
        "Cyrillic, rare": [1.49, 0.0, 0.0],
        "Cyrillic capitals": [0.3, 0.0, 0.0],
        "Cyrillic capitals, western and southern": [8.0, 1.34, 0.0],
        "Cyrillic, southern": [0.02, 0.0, 0.0],
        "Armenian": [0.32, 1.36, 0.0],
        "Armenian capitals": [1.56, 1.51, 0.0],
        "Hebrew": [0.55, 0.0, 1.58],
        "Arabic, rare": [2.56, 0.0, 0.0],
        "Arabic": [0.39, 0.0, 0.0],
        "Arabic points": [0.0, 0.0, 0.0],
        "Persian and Urdu": [0.4, 0.0, 0.0],
        "Thaana": [0.67, 0.17, 0.0],
        "Devanagari": [0.3, 0.0, 0.26],
        "Bengali": [0.0, 0.0, 0.84],
        "Gurmukhi": [1.1, 0.0, 0.0],
        "Gujarati": [0.54, 0.0, 0.17],
        "Oriya": [1.4, 0.49, 1.05],
        "Tamil": [0.0, 0.92, 0.0],
        "Telugu": [0.54, 0.0, 0.38],
        "Kannada": [0.0, 1.2, 0.41],
        "Malayalam": [0.0, 0.85, 0.0],
        "Sinhala": [0.7, 0.21, 0.7],
        "Thai": [0.29, 0.42, 0.57],
        "Lao": [0.58, 0.35, 0.59],
        "Tibetan": [0.85, 0.34, 0.64],
        "Burmese": [0.0, 2.39, 0.0],
        "Georgian": [0.17, 2.06, 0.0],
        "Hangul letters": [1.4, 0.0, 0.0],
        "Ethiopic": [0.83, 0.55, 0.0],
        "Cherokee": [0.59, 2.57, 0.0],
        "Khmer": [0.0, 0.07, 1.48],
        "Hiragana": [0.38, 0.31, 0.0],
        "Katakana": [0.47, 0.33, 0.0],
        "signs of Latin-1": [1.14],
        "combining": [1.4],
        "punctuation": [4.03],
        "format": [0.29],
        "frequent": [0.72],
        "symbols": [2.03],
        "technical symbols": [1.71],
        "joiner": [3.51],
        "variation": [1.27],
        "Arabic marks": [1.13],
        "Arabic digits": [0.56],
        "digits of India": [0.0],
        "dandas": [3.64],
        "killers of vowels": [0.69],
        "tones and dots": [0.0],
        "Chinese marks": [0.0],
        "Chinese": [1.56],
        "Chinese, frequent": [0.58],
        "Korean": [0.41],
        "emoji": [0.31],
        "emoji, rare": [1.14],
        "four bytes": [4.06],
        "Cyrillic": [
            1.24,
            2.09,
            2.33,
            2.76,
            2.34,
            3.11,
            0.0,
            0.0,
            0.0,
            0.0,
            1.02,
            1.12,
            1.18,
            0.0,
            0.83,
            0.0,
            0.0,
            0.07,
        ],
    },
)
LLAMA = Rates(
    letters="""
^ 6209E1A075IABG82E00720005A .
a I045XC30D3A7BBO0I50453H86G B
b 1I00FS0Q00U05470G24042000P F
c 80070N0A5002AF0KG000F90600 8
d 0AO02P0V30400000AF2I6AbzEW 0
e 0000M0oLI2M080035004E020LJ 6
f 000J80JY0ge0009LCY000JK60K 0
g J0Zz0g0E005I48ABJ00E6HBI82 1
h 00L80Z503EF0E02B8100ITU9M8 1
i 0684C9HeT8J800016A07j1LCK0 9
j JLPFCH8qI9JFGBWM5C0HBHL7b2 O
k 00pa0H0Q75MHVCFS6AAK07M909 0
l 4E000CL60QJ0FK6B89BD50aC04 5
m 4JM40B0z1JY0EG40GN0C0d780g 3
n 9p006A107A000900Wp0020IXCN 6
o 2500I0DRD02IB010a0F700000V 9
p 5V00200O0CC0E000J3021Oe005 7
q DB0DNA9Gn43807g0LzK305029D j
r F00606005p0450000254EMBM04 0
s IYAP5GIF8WO00A60W000000500 0
t 8a000090024G0E05K0L768OI5N 6
u EFMH0G4FIQG04CH0D0H060Y34Q F
v 526H0N0H3HOIDWDMcUBKP78jVD E
w EDU0E06004SDF00ZQD0OEOIGJK 0
x AA0Y0CKL0B0Y4ZU0B5U2EAJa8P 8
y 0A0NK00MHKKPwN00Ex04mP02L1 0
z 005053QOF9G000D9Fh0AD0DE31 0
* GV0ZIw9oNHC5O300zMP979Of10 .
""",
    capital=0.0,
    single=0.21,
    inner=0.42,
    further=0.39,
    after_digit=0.46,
    before_digit=0.0,
    apostrophe=0.37,
    mark=0.55,
    joined=0.19,
    apart=0.5,
    same=0.05,
    again=0.27,
    unclosed=0.0,
    accent_first=0.79,
    accent_last=0.76,
    further_digit=0.16,
    closing_line=0.38,
    indent=0.94,
    accents={
        "other": 1.92,
        "capital": 1.21,
        "phonetic": 1.96,
        "combining": 1.28,
        "Vietnamese": 0.13,
        "acute": 0.38,
        "grave": 1.03,
        "Iberian": 0.49,
        "German": 0.24,
        "Nordic": 1.36,
        "Czech": 0.56,
        "Polish": 0.39,
        "Turkish": 0.1,
        "Romanian": 0.17,
        "Hungarian": 0.0,
        "Baltic": 1.37,
    },
    scripts={
        "two bytes": [1.68, 0.28, 0.0],
        "three bytes": [2.97, 0.0, 0.0],
        "Greek, rare": [1.59, 0.77, 0.0],
        "Greek with breathings": [2.03, 0.27, 0.0],
        "Greek": [0.27, 0.14, 0.0],
        "Greek with accents": [1.18, 0.95, 0.0],
        "Greek capitals": [1.23, 0.12, 0.0],
        "Cyrillic, rare": [2.97, 0.0, 0.0],
        "Cyrillic capitals": [0.62, 0.0, 0.0],
        "Cyrillic capitals, western and southern": [8.0, 0.63, 0.0],
        "Cyrillic, southern": [1.35, 0.0, 0.0],
        "Armenian": [1.76, 0.52, 0.0],
        "Armenian capitals": [1.42, 0.87, 0.0],
        "Hebrew": [1.18, 0.0, 2.87],
        "Arabic, rare": [4.52, 0.0, 0.0],
        "Arabic": [0.4, 0.0, 0.0],
        "Arabic points": [1.59, 0.0, 0.0],
        "Persian and Urdu": [1.01, 0.0, 0.0],
        "Thaana": [1.97, 0.36, 0.0],
        "Devanagari": [0.45, 0.0, 0.97],
        "Bengali": [1.37, 0.66, 1.1],
        "Gurmukhi": [2.17, 0.67, 1.3],
        "Gujarati": [2.11, 0.72, 1.46],
        "Oriya": [1.4, 0.49, 1.05],
        "Tamil": [1.66, 0.52, 1.26],
        "Telugu": [2.16, 0.78, 1.53],
        "Kannada": [2.18, 0.73, 1.48],
        "Malayalam": [1.79, 0.24, 1.94],
        "Sinhala": [0.7, 0.21, 0.7],
        "Thai": [0.35, 0.34, 1.19],
        "Lao": [2.36, 0.52, 1.1],
        "Tibetan": [2.65, 1.16, 1.6],
        "Burmese": [1.09, 1.88, 2.99],
        "Georgian": [2.04, 0.25, 0.0],
        "Hangul letters": [1.4, 0.0, 0.0],
        "Ethiopic": [2.95, 0.6, 0.0],
        "Cherokee": [2.89, 0.5, 0.0],
        "Khmer": [1.9, 0.26, 1.24],
        "Hiragana": [0.49, 0.53, 0.0],
        "Katakana": [0.7, 0.0, 0.0],
        "signs of Latin-1": [2.05],
        "combining": [1.4],
        "punctuation": [4.13],
        "format": [0.0],
        "frequent": [0.38],
        "symbols": [1.84],
        "technical symbols": [1.8],
        "joiner": [3.14],
        "variation": [1.08],
        "Arabic marks": [4.86],
        "Arabic digits": [1.64],
        "digits of India": [1.26],
        "dandas": [0.2],
        "killers of vowels": [0.87],
        "tones and dots": [0.0],
        "Chinese marks": [0.03],
        "Chinese": [1.85],
        "Chinese, frequent": [0.71],
        "Korean": [0.49],
        "emoji": [2.07],
        "emoji, rare": [1.77],
        "four bytes": [3.89],
        "Cyrillic": [
            1.24,
            1.79,
            2.1,
            2.38,
            2.29,
            2.55,
            0.0,
            0.17,
            0.0,
            0.0,
            1.01,
            3.77,
            0.12,
            0.0,
            0.0,
            0.36,
            0.0,
            0.0,
        ],
    },
)
QWEN = Rates(
    letters="""
^ 500AE19177JAAC82000910008C .
a L082YP50C3G79BW0G40383HB6N B
b 1L00EV0V00Y08GA0E07085000K I
c 900E0M086000HN0KC000D90600 0
d 05Q04X0a20E000003O0F7AZoBV 0
e 0000M0jLB7S07062B006G230PF 5
f 001H80Fb0hb0007PBT000AM30L 0
g K0kz0k0K088G39FFG00I54AK00 3
h 00O50g5I0KF6D06A1100KXe7KG 3
i 08E6A6FeUCL900050F0Ae1MDU0 A
j FGL5AF1uCBDGcLTJ590S4HD5X4 L
k 00hR0L0L6EJRK9FF6MAG0HD89F 0
l 3D0009R70QS02H6J0DFE20f807 5
m 3MG04J0z4IV08E50FM0J1Y670c 5
n Bg0096006G00DE50Zw0130IP5Q 5
o 0800H09W218G9010R0CD00000d 7
p 3U0020009BG0D000H3036Nf006 4
q BE2CO99In63708g0NzHI0341AB g
r D10604003s0740000395HL0K00 0
s HWBO4JOF6XL00A30S000000400 0
t 7l0020H0083G0T04J0H64KEJ3Q 4
u G9OH4J0JKVI03CK050H040X90Q I
v 16EO0N0B0HMOBa7MWYFRV25aeB E
w BQa2F2E007S8I00JM40P8KHH7C 0
x 5E0S08fL0A0NAZY095P1H9LYHL B
y 0E0QK00RIE2doS00Hp00iJ03E0 0
z 0415A5BIE7D140G8Fi0007KE05 0
* Cc0oZr9f49XCS400pORF0IKz4I .
""",
    capital=0.02,
    single=0.0,
    inner=0.27,
    further=0.43,
    after_digit=0.71,
    before_digit=0.0,
    apostrophe=0.48,
    mark=0.65,
    joined=0.07,
    apart=0.51,
    same=0.05,
    again=0.11,
    unclosed=0.0,
    accent_first=1.03,
    accent_last=1.12,
    further_digit=1.0,
    closing_line=0.18,
    indent=0.97,
    accents={
        "other": 1.1,
        "capital": 0.88,
        "phonetic": 0.78,
        "combining": 0.0,
        "Vietnamese": 0.03,
        "acute": 0.39,
        "grave": 0.56,
        "Iberian": 0.53,
        "German": 0.27,
        "Nordic": 1.03,
        "Czech": 0.62,
        "Polish": 0.0,
        "Turkish": 0.2,
        "Romanian": 0.25,
        "Hungarian": 0.0,
        "Baltic": 1.06,
    },
    scripts={
        "two bytes": [1.68, 0.28, 0.0],
        "three bytes": [1.45, 1.83, 0.0],
        "Greek, rare": [1.57, 0.82, 0.0],
        "Greek with breathings": [1.4, 0.12, 0.0],
        "Greek": [0.95, 0.38, 0.0],
        "Greek with accents": [0.76, 0.48, 0.0],
        "Greek capitals": [1.02, 0.36, 0.0],
        "Cyrillic, rare": [1.96, 0.0, 0.0],
        "Cyrillic capitals": [0.1, 0.0, 0.0],
        "Cyrillic capitals, western and southern": [8.0, 0.84, 0.0],
        "Cyrillic, southern": [1.01, 0.0, 0.0],
        "Armenian": [1.04, 0.74, 0.0],
        "Armenian capitals": [0.62, 0.01, 0.0],
        "Hebrew": [0.44, 0.0, 3.97],
        "Arabic, rare": [2.65, 0.0, 0.0],
        "Arabic": [0.37, 0.31, 0.0],
        "Arabic points": [0.51, 0.0, 0.0],
        "Persian and Urdu": [1.09, 1.32, 0.0],
        "Thaana": [1.88, 0.36, 0.0],
        "Devanagari": [0.91, 0.44, 1.24],
        "Bengali": [1.15, 0.3, 1.22],
        "Gurmukhi": [1.33, 1.22, 1.87],
        "Gujarati": [1.84, 0.64, 1.38],
        "Oriya": [1.4, 0.49, 1.05],
        "Tamil": [1.37, 0.22, 1.1],
        "Telugu": [1.84, 0.58, 1.39],
        "Kannada": [1.77, 0.37, 1.21],
        "Malayalam": [1.49, 0.33, 1.63],
        "Sinhala": [0.7, 0.21, 0.7],
        "Thai": [0.44, 0.25, 1.35],
        "Lao": [1.38, 0.45, 1.13],
        "Tibetan": [1.57, 0.65, 1.19],
        "Burmese": [1.13, 0.86, 2.31],
        "Georgian": [1.08, 0.0, 0.0],
        "Hangul letters": [1.4, 0.0, 0.0],
        "Ethiopic": [1.09, 0.5, 0.0],
        "Cherokee": [1.43, 2.62, 0.0],
        "Khmer": [1.56, 0.14, 0.73],
        "Hiragana": [0.31, 1.0, 0.0],
        "Katakana": [0.62, 0.76, 0.0],
        "signs of Latin-1": [1.98],
        "combining": [1.4],
        "punctuation": [4.57],
        "format": [1.72],
        "frequent": [0.59],
        "symbols": [1.84],
        "technical symbols": [0.96],
        "joiner": [2.29],
        "variation": [0.42],
        "Arabic marks": [2.26],
        "Arabic digits": [1.28],
        "digits of India": [1.73],
        "dandas": [1.44],
        "killers of vowels": [0.42],
        "tones and dots": [0.37],
        "Chinese marks": [0.14],
        "Chinese": [1.22],
        "Chinese, frequent": [0.58],
        "Korean": [0.53],
        "emoji": [1.05],
        "emoji, rare": [1.35],
        "four bytes": [3.05],
        "Cyrillic": [
            1.38,
            2.2,
            3.59,
            1.95,
            3.03,
            1.27,
            0.0,
            0.22,
            0.0,
            0.0,
            0.46,
            2.31,
            2.66,
            2.19,
            2.32,
            0.28,
            0.0,
            1.3,
        ],
    },
)
MISTRAL = Rates(
    letters="""
^ 7209B5F3C9FCCG916039020085 .
a M305lO90D0C4ABZ5L40346FD7F B
b 0W00700A30Y09910E44085806F 9
c F0290P084015FK0JA000G7B490 5
d 06G00H0T20B000000J8B96fJHU 0
e 1040L0YF33L040352005D370N3 5
f 307N91Ka0na0E03I84000L865K 4
g DDVl0g0J05030ICBH00J9AMG02 2
h 00PD0i067EJLI26IF000NTG6MD 5
i 2453597STAB5000G0G05X1NAR0 7
j 85W52I0iNEF900ON900J9PE5b4 B
k 00f35K6QB7EQL0FZ8B8O07Q8C0 3
l 1K0005D900Y05B600B7CB0b606 6
m 0KG24H0z6ON0HM60EF0Q0f360Y 4
n 6Y00580049808H40Qy0030QZBM 3
o 4A20G05U10799032g28705013Y 9
p 6T0020K947U05000D0004lk004 1
q 9C0CW96KV68009X0ET6K030389 W
r 670000005V0660000092MA5J00 2
s DR7N5BQ7AJH00B12L200000500 0
t 6Q0000O0050B0Y00L0NA60D10B 4
u B7JH336DHS640CQ0009000g2GC C
v 10BN0Z0O009BHA0LSGAPd72Za9 B
w EaO8H1H005LBC03MHG0POK7JIJ 0
x GC0T08QF0E0H0cb0B531F9DR1I B
y 200LI007GKBhqN00Ox00kV0410 0
z 000FF46WFD0000M9Ki0040GB40 8
* Db0OMxFRKO3CH700IJF1C0NW00 .
""",
    capital=0.03,
    single=0.0,
    inner=0.51,
    further=0.49,
    after_digit=0.69,
    before_digit=0.0,
    apostrophe=0.38,
    mark=0.69,
    joined=0.14,
    apart=0.43,
    same=0.08,
    again=0.0,
    unclosed=0.0,
    accent_first=0.56,
    accent_last=0.7,
    further_digit=1.0,
    closing_line=0.3,
    indent=0.91,
    accents={
        "other": 1.81,
        "capital": 0.9,
        "phonetic": 1.91,
        "combining": 2.41,
        "Vietnamese": 0.19,
        "acute": 0.25,
        "grave": 0.97,
        "Iberian": 0.62,
        "German": 0.16,
        "Nordic": 1.27,
        "Czech": 0.77,
        "Polish": 0.14,
        "Turkish": 0.1,
        "Romanian": 0.0,
        "Hungarian": 0.0,
        "Baltic": 0.85,
    },
    scripts={
        "two bytes": [1.68, 0.28, 0.0],
        "three bytes": [2.97, 0.0, 0.0],
        "Greek, rare": [1.53, 0.77, 0.0],
        "Greek with breathings": [2.75, 0.46, 0.0],
        "Greek": [0.32, 0.07, 0.0],
        "Greek with accents": [0.87, 0.72, 0.0],
        "Greek capitals": [1.27, 0.33, 0.0],
        "Cyrillic, rare": [1.88, 0.0, 0.0],
        "Cyrillic capitals": [0.31, 0.0, 0.0],
        "Cyrillic capitals, western and southern": [8.0, 0.24, 0.0],
        "Cyrillic, southern": [0.0, 0.0, 0.0],
        "Armenian": [0.06, 1.66, 0.0],
        "Armenian capitals": [1.86, 1.71, 0.0],
        "Hebrew": [0.52, 0.0, 3.06],
        "Arabic, rare": [4.79, 0.0, 0.0],
        "Arabic": [0.33, 0.0, 0.0],
        "Arabic points": [0.21, 0.0, 0.0],
        "Persian and Urdu": [0.83, 0.0, 0.0],
        "Thaana": [2.07, 0.38, 0.0],
        "Devanagari": [0.54, 0.0, 0.1],
        "Bengali": [0.0, 0.0, 1.47],
        "Gurmukhi": [1.25, 0.0, 0.0],
        "Gujarati": [0.86, 0.0, 0.28],
        "Oriya": [1.4, 0.49, 1.05],
        "Tamil": [0.0, 1.17, 0.0],
        "Telugu": [0.28, 0.37, 0.78],
        "Kannada": [0.0, 0.6, 0.89],
        "Malayalam": [0.0, 1.07, 0.1],
        "Sinhala": [0.7, 0.21, 0.7],
        "Thai": [0.46, 0.17, 0.8],
        "Lao": [3.48, 0.7, 1.36],
        "Tibetan": [2.85, 1.25, 1.67],
        "Burmese": [0.0, 2.27, 0.27],
        "Georgian": [0.38, 0.88, 0.0],
        "Hangul letters": [1.4, 0.0, 0.0],
        "Ethiopic": [2.95, 0.6, 0.0],
        "Cherokee": [2.87, 0.49, 0.0],
        "Khmer": [3.28, 0.98, 2.26],
        "Hiragana": [0.52, 0.35, 0.0],
        "Katakana": [0.64, 0.0, 0.0],
        "signs of Latin-1": [2.11],
        "combining": [1.4],
        "punctuation": [4.94],
        "format": [0.0],
        "frequent": [0.4],
        "symbols": [1.72],
        "technical symbols": [2.19],
        "joiner": [4.24],
        "variation": [2.21],
        "Arabic marks": [0.0],
        "Arabic digits": [0.0],
        "digits of India": [0.0],
        "dandas": [1.56],
        "killers of vowels": [1.43],
        "tones and dots": [0.47],
        "Chinese marks": [0.51],
        "Chinese": [1.61],
        "Chinese, frequent": [0.82],
        "Korean": [0.42],
        "emoji": [3.21],
        "emoji, rare": [1.79],
        "four bytes": [3.93],
        "Cyrillic": [
            1.0,
            1.52,
            2.37,
            1.87,
            2.21,
            2.08,
            0.12,
            0.02,
            0.0,
            0.24,
            1.17,
            1.18,
            1.27,
            0.0,
            0.91,
            0.04,
            0.0,
            0.0,
        ],
    },
)
DEEPSEEK = Rates(
    letters="""
^ 420AC4D5AAHAAE751257350A95 .
a K434ZHA0B0E5A8W5L50398BDCG A
b 0Q00007PB0Z0E651FA50B7002H C
c D7490U092004FO0JC190F943A0 2
d 00C33J0W30D000006T0468XIDM 0
e 1242H1XHA6O0500B300CI900N1 7
f 107V25LU0gW0IF4H9A000IE40L 0
g E0Wp0h581A071CAIG00T8A8F0H 2
h 00Q90b6F2TDXF042D000JaQ6B4 4
i 56719BEcN8F7000D0N27Y0KEU1 9
j 6GP46J2kIJBOKDNO700PAL97j0 J
k 05eK0F0PAGDaL3CeBFDF4CP99P 6
l 5P000EKB0Cb0AK3006BDD0f507 6
m 0GPH1C0n7IM0OF84CF0Q7cH60Y 4
n 9R00A7005L30CC70Tw0040DQ7J 5
o E600E0DC417FA031U2B907000M 9
p 4T7000E408E0300080024aj027 5
q DA1BS97Gl7300Fi0ENFS03759B S
r 700400003K08A0000494GE5I00 2
s AT7O3LPF8WJ00C20KB40000300 0
t 7V0010G00B0H5L09I0O98DGB0I 3
u 8BBG2J0JLX420BG00090B0V7FL A
v 05D70T0A098RBJ4LMKFGWFDLZ8 6
w EWSAD0C000K6G00OKH0NAG8HKB 0
x G96G0BKJ0D0E1RV0949146QGFF D
y 1A0WE00EGR5WXN02Oz00fN0490 0
z 0007E0AZF70190NCHZ40B0JD09 A
* FR0FbUKKVF066C009KD6D0GS0K .
""",
    capital=0.0,
    single=0.07,
    inner=0.52,
    further=0.42,
    after_digit=0.47,
    before_digit=0.0,
    apostrophe=0.46,
    mark=0.64,
    joined=0.21,
    apart=0.44,
    same=0.06,
    again=0.0,
    unclosed=0.0,
    accent_first=0.58,
    accent_last=0.52,
    further_digit=0.15,
    closing_line=0.34,
    indent=0.83,
    accents={
        "other": 1.5,
        "capital": 1.17,
        "phonetic": 1.29,
        "combining": 1.58,
        "Vietnamese": 0.71,
        "acute": 0.51,
        "grave": 1.13,
        "Iberian": 0.72,
        "German": 0.51,
        "Nordic": 1.5,
        "Czech": 0.77,
        "Polish": 0.18,
        "Turkish": 0.84,
        "Romanian": 0.23,
        "Hungarian": 0.0,
        "Baltic": 1.22,
    },
    scripts={
        "two bytes": [1.68, 0.28, 0.0],
        "three bytes": [2.41, 1.48, 0.0],
        "Greek, rare": [1.51, 0.73, 0.0],
        "Greek with breathings": [1.64, 0.09, 0.0],
        "Greek": [0.43, 0.13, 0.0],
        "Greek with accents": [0.79, 0.93, 0.0],
        "Greek capitals": [1.08, 0.1, 0.0],
        "Cyrillic, rare": [1.98, 0.0, 0.0],
        "Cyrillic capitals": [0.21, 0.0, 0.0],
        "Cyrillic capitals, western and southern": [8.0, 0.32, 0.0],
        "Cyrillic, southern": [0.0, 0.0, 0.0],
        "Armenian": [0.31, 1.55, 0.0],
        "Armenian capitals": [2.13, 1.61, 0.0],
        "Hebrew": [0.57, 0.0, 3.14],
        "Arabic, rare": [3.33, 0.0, 0.0],
        "Arabic": [0.43, 0.0, 0.0],
        "Arabic points": [0.31, 0.0, 0.0],
        "Persian and Urdu": [0.76, 0.0, 0.0],
        "Thaana": [2.0, 0.37, 0.0],
        "Devanagari": [0.74, 0.0, 0.6],
        "Bengali": [0.0, 0.73, 0.94],
        "Gurmukhi": [1.58, 0.0, 0.37],
        "Gujarati": [1.22, 0.0, 0.61],
        "Oriya": [1.4, 0.49, 1.05],
        "Tamil": [0.0, 1.89, 0.38],
        "Telugu": [0.38, 1.22, 1.09],
        "Kannada": [0.29, 1.2, 1.1],
        "Malayalam": [0.79, 0.92, 0.27],
        "Sinhala": [0.7, 0.21, 0.7],
        "Thai": [0.33, 0.68, 0.32],
        "Lao": [2.13, 0.51, 1.03],
        "Tibetan": [1.41, 0.57, 1.03],
        "Burmese": [0.12, 2.23, 1.25],
        "Georgian": [0.74, 0.55, 0.0],
        "Hangul letters": [1.4, 0.0, 0.0],
        "Ethiopic": [2.28, 0.59, 0.0],
        "Cherokee": [2.79, 0.98, 0.0],
        "Khmer": [1.26, 0.27, 1.26],
        "Hiragana": [0.47, 0.63, 0.0],
        "Katakana": [0.65, 0.52, 0.0],
        "signs of Latin-1": [1.3],
        "combining": [1.4],
        "punctuation": [4.66],
        "format": [0.0],
        "frequent": [0.36],
        "symbols": [1.98],
        "technical symbols": [1.71],
        "joiner": [3.39],
        "variation": [1.16],
        "Arabic marks": [3.34],
        "Arabic digits": [0.56],
        "digits of India": [0.05],
        "dandas": [1.16],
        "killers of vowels": [0.7],
        "tones and dots": [0.0],
        "Chinese marks": [0.24],
        "Chinese": [1.25],
        "Chinese, frequent": [0.5],
        "Korean": [0.56],
        "emoji": [1.22],
        "emoji, rare": [1.48],
        "four bytes": [4.05],
        "Cyrillic": [
            1.47,
            1.97,
            3.49,
            2.52,
            2.93,
            1.6,
            0.0,
            0.05,
            0.0,
            0.0,
            0.85,
            2.11,
            2.11,
            1.69,
            2.21,
            0.29,
            0.0,
            0.0,
        ],
    },
)
