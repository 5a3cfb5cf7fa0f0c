"""Data of sentence splitting: character classes, abbreviations and other word lists.

The rules that use them are in `boundary_kernels`.
"""

import functools
import unicodedata
from typing import Any

import numpy as np

# Character classes; the four kinds of terminators must come last.
(OTHER, SPACE, UPPER, LOWER, UNCASED, UNSPACED, DIGIT, MARK, OPEN, CLOSE, QUOTE) = range(11)
(COMMA, DASH, EMOJI, STOP, STRONG, ELLIPSIS, WIDE) = range(11, 18)

TERMINATORS = {
    STOP: ".\u2024\ufe52\uff0e",
    STRONG: "!?؟\u203c\u203d\u2047\u2048\u2049\u2e2e\u037e",
    ELLIPSIS: "…",
    # These end a sentence with or without a following space.
    WIDE: "。｡！？﹖﹗।॥۔։።፧፨។៕။།༎᠃᠉܀܁܂߹᙮᱾᱿꓿꘎꘏꛳꛷꡶꡷꣎꣏꫰꫱꯫",
}
_SPELLED_OUT = {OPEN: "¿¡", COMMA: ",;:،؛、，；：､", QUOTE: "\"'`´", DASH: "-"}
_BY_CATEGORY = {
    "Zs": SPACE, "Zl": SPACE, "Zp": SPACE, "Lu": UPPER, "Lt": UPPER, "Ll": LOWER,
    "Lo": UNCASED, "Lm": UNCASED, "Nd": DIGIT, "Nl": DIGIT, "No": DIGIT,
    "Mn": MARK, "Mc": MARK, "Me": MARK, "Cf": MARK, "Ps": OPEN, "Pe": CLOSE,
    "Pi": QUOTE, "Pf": QUOTE, "Pd": DASH,
}  # fmt: skip
_RANGES = (  # after the categories, in this order
    (0x10D0, 0x10FF, UNCASED),  # Georgian: lower case in Unicode, but written without case
    (0x1F000, 0x1FAFF, EMOJI),
    (0x2600, 0x27BF, EMOJI),
    (0x3041, 0x30FF, UNSPACED),
    (0x3400, 0x4DBF, UNSPACED),
    (0x4E00, 0x9FFF, UNSPACED),
    (0xF900, 0xFAFF, UNSPACED),
)
N_CLASSED = 0x20000  # higher code points are ideographs

# Flags of words.
NEVER_ENDS, MAY_END, BEFORE_NUMBER, UNIT, ENDS, STARTER, ORDINAL, BEFORE_ORDINAL, EXCLAIMS = (
    1 << bit for bit in range(9)
)

WORDS = {
    # Abbreviations that never end a sentence.
    NEVER_ENDS: """
        Mr Mrs Ms Messrs Dr Drs Prof Rev Gen Col Lt Capt Cpl Sgt Maj Cmdr Adm Hon Sen Rep
        Gov Pres Supt Det Insp Fr Msgr Brig Pvt Pfc Ald Atty Treas e.g i.e eg vs viz cf ca
        approx esp incl resp c/o i.a P.S a.k.a Ew Hr Hrn Fam Frl Dipl Ing Sra Srta Sres Dra Dña
        Mme Mmes Mlle Mlles Mgr MM bzw z.B z.b d.h d.i m.E u.U i.d.R o.ä sog vgl evtl ggf
        insb inkl einschl zzgl p.ex p.e Sig Sigg Dott Dott.ssa Prof.ssa Avv Arch т.е т.к т.н
        ул просп пер бул им проф акад доц гл тов см ср напр рис табл обл мин dhr mevr drs
        bijv o.a d.w.z m.b.t t.o.v m.n bl.a t.ex t.eks f.eks dvs jf fx np tzw tzn m.in św dr
        inż prof mgr gen płk por zob tj tzv např mj sv ing डॉ प्रो श्रीमती स्व एड
    """,
    # Abbreviations that may end a sentence: they do if a typical sentence opener (STARTER)
    # follows.
    MAY_END: """
        Inc Ltd Corp Co Bros LLC plc Jr Sr Snr Esq al Fig Figs Vol Nr Assn Dept Univ Govt
        Est est Mfg Intl Natl St Ave Blvd Rd Hwy Pkwy Ln Sq Mt Mts Ft Pt Bldg Ste Apt Jan
        Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat
        Sun Ala Ariz Ark Calif Colo Conn Del Fla Ga Ky La Md Mich Minn Miss Mont Neb Nev
        Okla Ore Penn Pa Tenn Tex Va Vt Wis Wyo Ont Que D.C N.Y Ph.D M.Sc B.Sc Ph.D.s Ed Eds
        ed eds trans dept div dist tel orig attn feat ext repr illus anon pseud transl v.Chr
        n.Chr Chr u.a u.ä u.v.a ff Hrsg hrsg Bd Bde Abt Abs Anm Abb Str Tel geb gest verh Jh
        Jhd Jhdt zit bes allg eigtl ehem gegr gen u.dgl Mio Mrd Tsd Aufl Ausg Verl Kap Mag
        Ges bld av bd boul éd env tél apr janv févr avr juil déc dép arr Ud Uds Vd Vds
        EE EE.UU Avda Admón Cía núm tel Lda Ldo Gral Cnel Tte Depto Prov sec ecc pag pagg
        tav sgg nr pers ev evt руб коп стр тыс млн млрд вв др пр сокр лат англ нем фр греч
        итал исп род чел экз изд ред कि मी रु नं सं ई पं
    """,
    # Abbreviations only before a number; else words, which may end a sentence.
    BEFORE_NUMBER: """
        pág pag No Nos no nos Nr nr Nrn n° nº núm num fig figs Fig Figs vol vols Vol p pp pg pgs Art
        Arts arts sec secs Sec sect chap ch cap para pt pts tab ref refs eq eqs app ex op v
        vv cl ver Abb Bl Z Pos Rn Rz lit Ziff S Lfg H tab obr č čís s str poz art ust pkt sz
        рис п пп ст разд ч № N°
    """,
    # Units: after number and unit, a capital begins a new sentence.
    UNIT: """
        a.m p.m am pm A.M P.M г гг в вв кг км см мм га ч мин сек р руб коп тыс млн млрд к
        чел ft in oz lb lbs yd mi hr hrs min sec mph cm mm km kg Mio Mrd Std Min Sek Uhr
    """,
    # Abbreviations that end lists, and so sentences.
    ENDS: "т.д т.п u.s.w e.t.c itd itp atd etc usw ecc osv др",
    # Words that often begin sentences and rarely names.
    STARTER: """
        The This That These Those He She It We They You I A In On At By For From With But
        And If When While After Before As To There Then However His Her Its Their Our My
        Your What Who Why How Where Which Although Though Because Since During Some Many
        Most Both All Each Another Other Not So Thus Also Is Are Was Were Has Have Had Can
        Could Would Should Please Let Now Here Once Only Such Under Until Upon Despite
        According Later Today Within Over Two Three Several Did Do Does Didn Yes An Of Or
        Instead Unlike Among Between Through Throughout Even Just Der Die Das Den Dem Ein
        Eine Einen Einer Er Sie Es Wir Ich Ihr Im Am Auf Aus Bei Mit Nach Vor Zum Zur Für
        Durch Und Aber Oder Doch Auch Als Wenn Dann Dieser Diese Dieses Dies Nur Seine Ihre
        Sein Unter Über Bis Seit Während Heute Hier Dort Dabei Damit Jedoch Nachdem Wie Was
        Wer Le La Les Un Une Ce Cette Ces Il Elle Ils Elles On Nous Vous Je En Dans Sur Pour
        Par Avec Mais Et Après Depuis Lors À Au Aux Son Sa Ses Si Selon Cependant Puis C' L'
        J' Qu' N' S' T' El Los Las Una Con Por Para Como Pero Y Su Sus Este Esta Estos Estas
        Es Fue Se Al Desde Durante Según Tras Entre Además También Cuando No Lo Sin Aunque
        Hoy Él Ella Gli Nel Nella Nei Dal Dalla È Ma Per Dopo Questo Questa Non Anche Come
        Tra Fu Era Alla Sono O Os As Um Uma Em Na Nos Nas Ele Ela Eles Mas Com Após Foi Isso
        Não De Het Een Op Hij Zij Ze Dit Dat Deze Bij Met Voor Door Maar Ook Wij Det Han Hun
        Hon På Efter Men Och Og Et Ett Som Med Fra Från Ved Jeg Jag Vi W Z Po Do Od To Jest
        Jego Jej Był Była Nie Jednak Ale Jak V Je Ve Pro В На Он Она Оно Они Это Этот Эта
        Эти С По Из За Для При После До От К У О Об И А Но Как Так Также Если Когда Однако
        Его Её Ее Их Мы Я Вы Ты Все Был Была Было Были Во Со Там Тогда Здесь Среди Под Через
        Кроме Не Затем Позже Что Кто Вот Тут У Він Вона Це Той Та
    """,
    # A number with a period before these is an ordinal: am 3. Oktober.
    ORDINAL: """
        Januar Jänner Februar März April Mai Juni Juli August September Oktober November
        Dezember Jahrhundert Jahrhunderts Jahrhunderte Jahrtausend Jahrtausends Jh Jhd Jhdt
        Weltkrieg Weltkriegs Weltkrieges Bundesliga Liga Auflage Klasse Platz Kapitel Band
        Tag Tage Tages FC Mal Stock Etage Lebensjahr Geburtstag Todestag Hälfte Runde
        Spieltag Division Armee Minute Jahrestag Semester Bezirk Arrondissement Grades Grad
        Teil Akt Szene Satz Wahlperiode January February March May June July October
        December január február március április május június július augusztus szeptember
        október december
    """,
    # A number with a period after these is an ordinal: in der 2. Runde.
    BEFORE_ORDINAL: """
        am im vom zum zur beim der die das dem den des seit ab bis jeder jede jedes jeden
        seine ihre seinem ihrem seinen ihren unser Am Im Vom Zum Zur Der Die Das Dem Den Des
        Seit Ab Bis
    """,
    # Names with an exclamation mark.
    EXCLAIMS: "Yahoo Yum Jeopardy Wham",
}
# After a terminator and a closing bracket these continue the surrounding sentence.
PARTICLES = ("と", "って", "を", "など", "なんて", "の")


@functools.cache
def character_classes() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the class of each character, uint8 (0x20000,)."""
    classes = np.zeros(N_CLASSED, dtype=np.uint8)
    for code in range(N_CLASSED):
        classes[code] = _BY_CATEGORY.get(unicodedata.category(chr(code)), OTHER)
    classes[[*range(9, 14), *range(0x1C, 0x20), 0x85, 0x200B]] = SPACE
    for first, last, kind in _RANGES:
        classes[first : last + 1] = kind
    for kind, characters in (_SPELLED_OUT | TERMINATORS).items():
        classes[[ord(character) for character in characters]] = kind
    return classes


@functools.cache
def word_flags() -> dict[str, int]:
    """Return the flags of each word."""
    flags: dict[str, int] = {}
    for flag, words in WORDS.items():
        for word in words.split():
            for form in _forms(word, flag):
                flags[form] = flags.get(form, 0) | flag
    return flags


def _forms(word: str, flag: int) -> set[str]:
    """Return the spellings of a listed word, also capitalized where that makes sense."""
    if flag in (STARTER, ORDINAL, BEFORE_ORDINAL, EXCLAIMS) or len(word) == 1:
        return {word}
    if word[0].isupper():
        return {word}
    return {word, word[0].upper() + word[1:]}
