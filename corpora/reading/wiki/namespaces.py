"""Names of the file and category namespaces of all Wikipedias, as their dumps declare them."""

# Lower case; those of earlier years as well.
_NAMES = """
abdeeling abruozdielis adà afaylu afbeelding akotchajülee_sünülia akpaxwé anaajaalaa apamduööt
archivi archivo archivu arkivo arquivo attarong attēls bangsaan barakas barkas bekätakthook berkas
bestaand bestand beureukaih bhengkek bhângsa bielde bild biru’_na_zayzyuwaw bondol borkas
buuri_buuri bólkur bɛn catadorie catagóir categoreye categori categoria categorie category
categorìa categoría categorîa categurìa catigurìa catègorie catégorie chitro coadan dadai dalala
dataja datei datnyvei datoteca datoteka delwedd dencukaay dosiero dosiye dosya dosye duoro_kɔre
ekpo eʼelyaaígíí faal faali fael faidhle fail faili fails failu fajl fasciculus fayil fayl faylo
faýl faịlụ feil fexeiro ficheiro ficheru fichier fichièr fichiér fichye fiché figura fiila fil
file fisiye fisye fitxategi fitxer fiùra fișier flocc flokkur fájl fáìlì fáílú gambar gbofa gbuli
gbúgbe gefre gepokan grafika grup horong ikiciro imachen image imagem imagen imajen immaggine
immagine imådje isimumathi iyeltak jamii kaarangay kaban kakuniza kalasi karolo kasasiwasiw
katagori kateggoría kategooria kategoreja kategori kategoria kategorie kategorii kategoriija
kategorija kategorio kategoriya kategoriye kategoriýa kategory kategorya kategoryjo kategorî
kategourii kateguorėjė kategòrëjô kategória kateqoriya katigori katigoria katiguriya katégori
katõgooria kawan klad klass klesi kulupu ladawan lahabali_kɔligu lifayela litratu liwuram loma
luokka lêer lūi-pia̍t media mkhakha mynd māhele nakka natisinahikaniwoc neneuhcāyōtl
ngokweenkcukacha nkyekyεmu ofbeeldienge ofbyld otú papeles patas_bntasan payl paypay pilt
pinapapilipiliqan plaetje plik pubu ragiv restr restren rikcha roinn-seòrsa ronney rukuni rummad
sa saachjrupp sachgrubb sary seswantšho setensele setshwantsho shopni sineqetj_a_vecik sitelen
skeda slika snakun sokajy soubor stampa sulli súbor ta'ãnga taggayt talaksan tangan thể_loại
tiedosto tipanictawin tispir tiätuvuárkká tugna tumbung turkum tóng-àn tʼááłáhági_átʼéego tập_tin
ugasan uluhlu umkhakha umuce vaizdas vibhag waihona wepo wàll wékpo wêne ymele zyuwaw_na íomhá
ñemohenda òbrôzk īxiptli αρχείο αρχείον κατηγορία κατηγορίαν акатегориа акс ангилал артовкс афаил
аңгылал билэ боомг гурӯҳ датотека дѣло зображення изображение картинка категори категорие
категорий категориэ категория категорија категорія катеґория катеґорія катигорїꙗ катэгорыя няйф
оагӏат податотека санат сурат сурет төркем файл әәшл ӳкерчĕк կատեգորիա պատկեր ստորոգութիւն טעקע
קאַטעגאָריע קובץ קטגוריה بؤلمه تصنيف تۈر جرگه دوتنه رج رده زمرو زمرہ زٲژ فائل فاىل فایل فيشي فَیِل
ملف ونکی وېشنيزه پرونده پۆل پەڕگە گٹھ ھۆججەت ܠܦܦܐ ܣܕܪܐ ފައިލު ޤިސްމު ߞߐߕߐ߮ ߦߌߟߡߊ किपा चित्र पटिमा
पुचः फाइल फाईल फायल वर्ग वर्गः विभाग श्रेणी सञ्चिका চিত্র চিত্ৰ ছবি থাক বিষয়শ্রেণী শ্ৰেণী ਤਸਵੀਰ
ਸ਼੍ਰੇਣੀ ચિત્ર શ્રેણી ଫାଇଲ ଶ୍ରେଣୀ பகுப்பு படிமம் దస్త్రం వర్గం ಚಿತ್ರ ಫೈಲ್ ವರ್ಗ ವರ್ಗೊ പ്രമാണം വർഗ്ഗം
ගොනුව ප්‍රවර්ගය หมวดหมู่ ไฟล์ ຮູບ ໝວດ ကဏ္ဍ ပိူင်ထၢၼ်ႈ ဖိုင် ဖုဲင် ဝှာင် ၾၢႆႇ კატეგორია ფაილი መደብ
ስዕል ከረርም ፋይል ចំណាត់ថ្នាក់ក្រុម ឯកសារ ᥙᥫᥒ_ᥗᥣᥢ ᥜᥣᥭᥱ ᱛᱷᱚᱠ ᱨᱮᱫ ẹ̀ka ọgbọn̄ ⴰⴼⴰⵢⵍⵓ ⴰⵙⵎⵉⵍ カテゴリ
ファイル 分类 分類 文件 檔案 画像 ꠇꠦꠐꠣꠉꠞꠤ ꠚꠣꠁꠟ ꯃꯆꯥꯈꯥꯏꯕ ꯐꯥꯏꯜ 그림 분류 파일 𐌷𐌰𐌽𐍃𐌰 𐍆𐌴𐌹𐌻𐌰
"""
NAMES = frozenset(name.replace("_", " ") for name in _NAMES.split())
