"""Texts by language, with ¶ where a human reader sees a sentence begin."""

CASES = {
    "English": """
He came. ¶She left.
What is it? ¶A dog!
Really?! ¶Yes!!! ¶No...
Mr. Smith met Dr. No on St. Mark's Place.
Prof. The was not a name, but Mrs. He might be.
He works at Acme Inc. ¶The pay is good.
Acme Inc. Holdings was sold to Foo Corp. in May.
It was the U.S. Government.
He lives in the U.S. ¶She does not.
J. R. R. Tolkien wrote it. ¶C. S. Lewis did not.
Plan B. ¶The plan failed.
Martin Luther King Jr. was there, and Jr. Smith.
See Fig. 3 and p. 12 of Vol. 2. ¶Then stop.
No. 5 is alive. ¶He said no. ¶We agreed.
It was version 3.14 of example.com/index.html. ¶Get it.
Mail me at a.b@c.org. ¶Thanks.
They met at 5 p.m. ¶Nobody spoke.
They met at 5 p.m. EST in town.
Fruit, e.g. apples, i.e. food, etc. ¶People eat it.
Cats vs. Dogs is a film.
He said "Stop!" and left.
"Stop." ¶He left.
“Stop!” ¶She stayed.
"Why?" he asked. ¶"Because."
He asked, 'Why?' ¶Nobody knew.
(It rained.) ¶We stayed in (as usual).
He was 30 (?) and happy (!) then.
It grew.[3] ¶Then it died.[12][13] ¶End.
Well... maybe not. ¶I wonder… ¶We shall see.
It ended in 1999. ¶Then came 2000. ¶5 people stayed.
1. First point. ¶2. Second point.
a. This item. ¶b. That item.
The list: 1. First thing.
Yahoo! Finance is a site. ¶Yahoo! ¶The site is old.
I saw Who's Afraid of Virginia Woolf? and liked it.
it was nice. ¶we went home. ¶Then slept.
i liked it. ¶the food was good! ¶we will return.
the shop is open. ¶ask for Jim.
I use it daily. ¶iPhone sales rose.
Thanks a lot! :) ¶See you.
Great news! 😀 ¶More soon.
See the page. ¶http://example.com has it.
Wait . . . ¶Then go.
The word . ¶" Next , " he said .
He said , " Go . " ¶She went .
Dec. 5 and Jan. 6 were cold. ¶In Feb. we left.
He got a Ph.D. in 1990. ¶His wife got an M.D. ¶The end.
Gen. Lee, Col. Mustard, Lt. Gov. Foo and Sen. Bar.
It rose 3.5 percent. ¶$5 was the price.
Is it? ¶(I doubt it.)
The F-16. ¶Another plane.
It is 5 ft. ¶The other is 6 in. long.
St. Petersburg is big. ¶It is on Main St. ¶The end.
""",
    "German": """
Er kam am 3. Oktober 1990. ¶Sie ging.
Im 19. Jahrhundert war das so. ¶Heute nicht.
Das gilt z. B. für Köln, d. h. für alle.
Das ist z.B. Köln bzw. Bonn, vgl. Abb. 3.
Haus Nr. 5 usw. ¶Die Stadt.
In der 2. Bundesliga spielt er seit 1999. ¶Er gewann.
Am 3. 10. 1990 war das.
Karl V. ¶Der Kaiser.
„Komm!“ ¶Sie ging.
„Komm!“, rief er. ¶»Nein.« ¶Dann Ruhe.
Er fragte: »Wer da?« und schwieg.
Hr. Müller und Prof. Dr. Meier u. a. Gäste.
Um 300 v. Chr. lebte er. ¶Und später?
Das kostet 5 Mio. ¶Euro sind Geld.
Es gab ca. 12.500 Leute. ¶Alle froh.
""",
    "French": """
M. Dupont arriva. ¶Mme Martin partit.
« Bonjour ! » dit-il. ¶« Ça va ? » ¶Il partit.
Il est né av. J.-C. ¶Elle aussi.
Voir p. 12. ¶Fin.
Henri IV. ¶Le roi.
Mlle. Durand, p. ex. hier, etc. ¶Puis rien.
Quoi… ¶Encore ?
Il habite au no. 5. ¶L'homme est vieux.
Vive l'O.N.U. ¶L'organisation.
""",
    "Spanish": """
¿Qué tal? ¶¡Hola! ¶Bien.
El Sr. García llegó. ¶La Sra. López no.
Los EE. UU. son grandes. ¶España no.
El núm. 5 y la pág. 3.
«¡Ven!» ¶Ella vino.
Vino D. Juan. ¶Se fue.
¿Vienes? ¶¿O no?
Cuesta 3.50 euros. ¶¡Caro!
""",
    "Italian and Portuguese": """
Il Sig. Rossi e il Dott. Bianchi, ecc. ¶Poi basta.
Vedi pag. 5. ¶È finita.
Avv. Verdi parla. ¶Ma non ora.
O Sr. Silva chegou. ¶A Sra. Costa não.
Em 1990 d. C. nada. ¶Não sei.
""",
    "Dutch, Polish, Scandinavian": """
Dhr. de Vries kwam, d.w.z. niet alleen. ¶Hij bleef.
To jest np. Kraków i św. Piotr. ¶Koniec.
Prof. Nowak mieszka przy ul. ¶On śpi.
Det er f.eks. Oslo. ¶Han kom.
Hon bor på nr. 5. ¶Det är bra.
""",
    "Russian and Ukrainian": """
Он пришёл. ¶Она ушла.
Он жил на ул. Ленина. ¶Она нет.
В 1990 г. ¶Он родился в г. Москве.
И. С. Тургенев, т. е. писатель.
Это так и т. д. ¶Потом ушёл.
Это, т.е. всё, см. рис. 5. ¶Конец.
«Стой!» ¶Он стоял.
— Куда? ¶— Туда.
Проф. Иванов и акад. Петров.
Він прийшов. ¶Вона пішла.
""",
    "Greek, Armenian, Georgian": """
Ήρθε. ¶Έφυγε.
Τι κάνεις\u037e ¶Καλά.
Բարեւ։ ¶Ինչպես ես։
გამარჯობა. ¶როგორ ხარ?
""",
    "Chinese": """
今天很好。¶明天呢？¶好！
他说：“你好。”¶他走了。
“走吧！”¶他说。
“走吧！”，他说。
我们……不知道。
好?¶不好!¶对。
価格は3.5元。¶贵。
（完。）¶下一句。
""",
    "Japanese": """
今日は晴れです。¶明日は？¶雨！
「はい。」と言った。¶終わり。
「はい。」¶彼は笑った。
半角｡¶終わり｡
すごい！！¶本当？！¶うん。
""",
    "Korean": """
그는 왔다. ¶나는 갔다.
그 때. ¶그리고 나서?
""",
    "Hindi, Marathi": """
यह वाक्य है। ¶वह आया।
डॉ. शर्मा आए। ¶क्या हाल है? ¶ठीक।
श्लोक॥ ¶अगला।
ते आले. ¶मी गेलो.
""",
    "Arabic, Urdu, Persian, Hebrew": """
هل أنت بخير؟ ¶نعم.
جاء. ¶ذهب.
وہ آیا۔ ¶وہ گیا۔
او آمد. ¶من رفتم؟ ¶بله.
ש. י. עגנון כתב. ¶הוא הלך.
""",
    "Amharic, Khmer, Burmese, Tibetan": """
ሰላም። ¶ሁለት፧ ¶አዎ።
ខ្ញុំ។ ¶ពីរ។
မြန်မာ။ ¶စာ။
བོད། ¶ཡིག།
""",
}
