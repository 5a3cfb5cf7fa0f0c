"""Small files of every format that is read, to be mutated."""

import json

SOURCES: dict[str, str | bytes] = {
    "a.txt": "Some words stand here.\nAnd some more.\n\n" * 20,
    "a.jsonl": "".join(json.dumps({"text": f"word{n}", "n": n}) + "\n" for n in range(30)),
    "a.csv": "text,author\n" + "".join(f'"word{n}, yes",a{n}\n' for n in range(30)),
    "a.tsv": "text\tauthor\n" + "".join(f"word{n}\ta{n}\n" for n in range(30)),
    "a.conllu": ("# newdoc\n" + "\t".join(["1", "word", "w", "NOUN", *"_" * 6]) + "\n\n") * 20,
    "a.conllup": ("# global.columns = ID FORM LEMMA\n1\tword\tw\n2\t.\t.\n\n") * 20,
    "a.vert": '<doc id="1" n=2>\n<p>\n<s>\nThe\tDT\tthe\n<g/>\n.\tSENT\t.\n</s>\n</p>\n</doc>\n'
    * 10,
    "a.tagged": "The\tDT\tthe\ncats\tNNS\tcat\n.\tSENT\t.\n" * 20,
    "a.chunks": "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n. . O O\n\n" * 20,
    "quoted.tsv": 'text\tauthor\n"line one\nline two"\ta\n' * 10,
    "a.xml": "<mediawiki><siteinfo/>"
    + "<page><title>A</title><ns>0</ns><revision><model>wikitext</model>"
    "<text>Some {{text}} [[here]] &lt;ref&gt;.</text></revision></page>" * 10 + "</mediawiki>",
    "a_tei": "<TEI><teiHeader><fileDesc><titleStmt><title>A</title></titleStmt></fileDesc>"
    "</teiHeader><text><body>"
    + "<div><head>B</head><p>Some te<lb break='no'/>xt.</p></div>" * 10
    + "</body></text></TEI>",
    "a_extracted": '<doc id="1" url="u" title="A">\nA\n\nSome text.\n</doc>\n' * 10,
    "a.vrt": '<text id="1" y="2">\nDer\tART\tdie\nHund\tNN\tHund\n.\t$.\t.\n</text>\n' * 10,
    "a_wiki_de": '<mediawiki xml:lang="de"><siteinfo><namespaces><namespace key="6">Datei'
    '</namespace><namespace key="14">Kategorie</namespace></namespaces></siteinfo>'
    "<page><title>Ä</title><ns>0</ns><revision><text>#WEITERLEITUNG [[B]]</text></revision></page>"
    "<page><title>B</title><ns>0</ns><revision><text>__OHNE_INHALT__ [[Datei:A.jpg|mini|links|C "
    "[[D|e]]]] -{zh-hans:a;zh-hant:b}- {{lang|de|&lt;nowiki&gt;x&lt;/nowiki&gt;}} '''f''' "
    "{|\n|g\n|} &amp;amp;</text></revision></page></mediawiki>",
    "a_wrapped": (
        "The sentences of this paragraph are broken into lines of one width, as those\n"
        "books of a library are, and go on in the next line until they come to an end.\n\n"
    )
    * 12,
    "a_tokens.jsonl": '{"text": ["New", "York", "&amp;"], "n": {"a": [1, null]}}\n' * 10,
    "a_null.jsonl": '{"text": null, "n": 1.5}\n{"text": "\\ud83d\\ude0a a\u00ad\\n"}\n' * 10,
    "a_warc": "WARC/1.0\nContent-Length: 5\n\nHello\n" * 5,
    "a_vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n" * 5,
    "a_utf16": ("Words of UTF-16\n" * 10).encode("utf-16"),
}
VECTORS: dict[str, bytes] = {
    "text": b"3 2\nnew york 1 2\nb -.5 3e-1\nc 5 1\n",
    "glove": b"the 0.1 0.2 0.3\n. -1 2 3e1\nnew_york 1 1 1\n",
    "binary": b"3 2\na \x00\x00\x80\x3f\x00\x00\x00\x40\nbc \x00\x00\x00\xbf\x00\x00\x80\x40\n"
    b"d \x00\x00\x80\x3f\x00\x00\x80\x3f\n",
    "spaces": b"3 2\nnew york \x00\x00\x80\x3f\x00\x00\x00\x40\n"
    b"a b c \x00\x00\x00\xbf\x00\x00\x80\x40\nd \x00\x00\x80\x3f\x00\x00\x80\x3f\n",
    "tabs": b"a\t1\t2\nb\t3\t4\nc\t5\t6\n",
}
SETS: dict[str, tuple[str, str]] = {  # each with the function that reads it
    "pairs": (
        "word_pairs:read_pairs",
        'word1,word2,score\ncat,dog,7.5\n"a, b",c,1\nd,e,2.5\nf,g,10\n',
    ),
    "analogies": ("questions:read_analogies", ": capital\nAthens Greece Oslo Norway\n" * 5),
    "relations": ("questions:read_analogies", "cat\tcats/kitties\ndog\tdogs\n" * 5),
    "categories": ("categories:read_categories", "cat\tanimal\noak\ttree\nelm\ttree\n" * 5),
    "groups": ("categories:read_groups", "cat animal\noak tree\n" * 5),
    "topic": ("outlier_groups:read_topics", "a\nb\nc\nd\n\ne\nf\ng\n"),
    "graded": ("graded_change:read_graded", "plane_nn\t0.88\ntree_nn\t0.07\nbag_nn\t0.1\n"),
    "associations": (
        "association_tests:read_associations",
        (
            '{"targ1": {"category": "A", "examples": ["a", "b"]}, "targ2": {"category": "B",'
            ' "examples": ["c", "d"]}, "attr1": {"category": "C", "examples": ["e", "g"]},'
            ' "attr2": {"category": "D", "examples": ["f", "h"]}}'
        ),
    ),
    "contexts": (
        "context_pairs:read_contexts",
        "1\tbank\tn\triver\tn\tA <b> bank </b> .\tA <b> river </b> .\t5.0\n" * 5,
    ),
    "minimal": (
        "sentence_pairs:read_minimal_pairs",
        '{"sentence_good": "I eat.", "sentence_bad": "I eats.", "UID": "a"}\n' * 5,
    ),
    "labeled": ("labeled_sentences:read_sentences", "1\ta good film\n0\ta bad one\n" * 5),
    "tagged": ("tagged_words:read_tagged", "The\tDT\ncat\tNN\n\nEU\tNNP\n" * 5),
    "tagged-ud": (
        "tagged_words:read_tagged",
        "1\tword\tw\tNOUN\tNN\tA=B\t0\troot\t_\t_\n\n" * 5,
    ),
}
