// @ts-check

/**
 * One name in two writings: as its bearer writes it, and in Latin letters for ids and for `cn`.
 * @typedef {{ written: string, latin: string }} Name
 *
 * @typedef {object} Culture
 * @property {string} language
 * @property {number} weight how many of the people, relative to the other cultures
 * @property {readonly Name[]} women given names
 * @property {readonly Name[]} men given names
 * @property {readonly { women: Name, men: Name }[]} families family names; many languages inflect them
 * @property {boolean} familyFirst
 * @property {string} separator between the two parts of the written name
 * @property {number} doubled how likely a person has two family names
 * @property {string} doubledWith what stands between the two
 */

/**
 * The lists are separated by spaces. `=` introduces the Latin writing, `/` separates the family name of men from
 * that of women, `_` stands for a space.
 * @param {string} language
 * @param {number} weight
 * @param {string} women
 * @param {string} men
 * @param {string} families
 * @param {Partial<Culture>} [differences]
 * @returns {Culture}
 */
function culture(language, weight, women, men, families, differences = {}) {
  return {
    language,
    weight,
    women: words(women).map(parseName),
    men: words(men).map(parseName),
    families: words(families).map((word) => {
      const [forMen, forWomen = forMen] = word.split('/');
      return { men: parseName(forMen), women: parseName(forWomen) };
    }),
    familyFirst: false,
    separator: ' ',
    doubled: 0.03,
    doubledWith: '-',
    ...differences,
  };
}

/** @param {string} list */
function words(list) {
  return list.trim().split(/\s+/).filter(Boolean);
}

/**
 * @param {string} word
 * @returns {Name}
 */
function parseName(word) {
  const [written, latin = written] = word.replaceAll('_', ' ').split('=');
  return { written, latin };
}

export const CULTURES = [
  culture(
    'en',
    9,
    'Alice Amelia Beatrix Charlotte Daisy Edith Eleanor Flora Georgia Harriet Imogen Ivy Juliet Katherine Lucy Matilda Olive Penelope Rosalind Violet',
    'Alfred Arthur Benjamin Callum Dexter Edmund Felix Frederick George Henry Isaac Jasper Leo Miles Oliver Percy Rupert Theodore Toby Winston',
    'Ashworth Baker Bradshaw Carter Chapman Cooper Davies Fletcher Gardner Harding Hughes Jackson Kendall Lockwood Marsh Nightingale Palmer Reeves Thatcher Whitfield',
    { doubled: 0.06 },
  ),
  culture(
    'fr',
    10,
    'Adèle Amélie Anaïs Aurélie Céleste Chloé Clémence Élodie Éloïse Florence Geneviève Héloïse Inès Joséphine Léa Maëlle Margaux Noémie Océane Solène Zoé Marie-Thérèse Anne-Sophie',
    'Adrien Antoine Aurélien Benoît Cédric Clément Étienne Félix François Gaël Grégoire Jérôme Joël Loïc Léon Mathéo Maël Rémi Théo Timothée Jean-François Pierre-Noël',
    "Bérard Bélanger Boissière Chrétien Côté Delacroix Desprès Dubœuf Faÿ Garçon Guérin Hébert Lefèvre Lemaître L'Hôpital Mérieux Noël Perrin Pétrovic Rousseau Saint-Exupéry Thévenet Véron",
    { doubled: 0.1 },
  ),
  culture(
    'de',
    9,
    'Annegret Bärbel Charlotte Frieda Greta Hannah Heike Johanna Jördis Käthe Lieselotte Mathilda Marlene Ottilie Rosalie Sigrid Ursula Ulrike Wilhelmine Zoë',
    'Anton Björn Emil Friedrich Götz Günther Hannes Jörg Jürgen Konrad Lorenz Ludwig Matthäus Moritz Oskar Rüdiger Sören Theo Uwe Wolfgang',
    'Bäcker Böhm Dörfler Fuchs Fürst Großmann Grünwald Hofmann Jäger Köhler Krämer Lindner Möbius Müller Preuß Röntgen Schäfer Schröder Strauß Weiß Zöllner von_Bülow',
    { doubled: 0.08 },
  ),
  culture(
    'sv',
    6,
    'Agnes Alva Astrid Britta Ebba Elsa Freja Gunilla Hedda Ingrid Klara Linnéa Maja Malin Saga Signe Tyra Ylva Åsa Ulla',
    'Anders Axel Björn Bo Dag Erik Gösta Göran Hampus Henrik Håkan Joakim Lars Måns Nils Olle Pär Sixten Torbjörn Åke',
    'Ahlgren Andersson Bergström Björklund Dahlström Ekström Engström Fälldin Gyllenhaal Hägglund Hållén Lindqvist Löfgren Nyström Öberg Sjöberg Svensson Söderström Åkesson Åström',
  ),
  culture(
    'pl',
    7,
    'Agnieszka Bożena Danuta Elżbieta Ewa Grażyna Hanna Irena Jadwiga Joanna Kinga Łucja Magdalena Małgorzata Oliwia Róża Stanisława Weronika Zofia Żaneta',
    'Andrzej Bartłomiej Błażej Czesław Filip Grzegorz Jędrzej Józef Kacper Krzysztof Łukasz Michał Mikołaj Paweł Przemysław Rafał Sławomir Stanisław Wojciech Zbigniew',
    'Adamczyk Brzęczyszczykiewicz Dąbrowski/Dąbrowska Gąsior Głowacki/Głowacka Górski/Górska Jabłoński/Jabłońska Kołodziej Krawczyk Kwaśniewski/Kwaśniewska Łuczak Mróz Nowak Pająk Rzeźnik Sęk Stępień Wiśniewski/Wiśniewska Wójcik Zając Ziółkowski/Ziółkowska Żak',
    { doubled: 0.07 },
  ),
  culture(
    'cs',
    5,
    'Adéla Alžběta Barbora Božena Dagmar Eliška Hana Jiřina Kateřina Kristýna Lucie Markéta Ludmila Nikola Růžena Šárka Tereza Věra Zdeňka Žofie',
    'Bedřich Čeněk Dalibor František Hynek Jáchym Jiří Kryštof Luboš Matěj Miloš Ondřej Přemysl Radek Řehoř Štěpán Tomáš Václav Vojtěch Zdeněk',
    'Beneš/Benešová Čapek/Čapková Černý/Černá Dvořák/Dvořáková Fiala/Fialová Hájek/Hájková Horák/Horáková Kučera/Kučerová Kříž/Křížová Málek/Málková Němec/Němcová Novák/Nováková Růžička/Růžičková Říha/Říhová Svoboda/Svobodová Šťastný/Šťastná Šimek/Šimková Veselý/Veselá Zeman/Zemanová Žižka/Žižková',
  ),
  culture(
    'tr',
    7,
    'Ayşe Başak Büşra Çiçek Defne Elif Fatma Gülşen Hatice Iraz İlknur İpek Işıl Meryem Nilüfer Özlem Selin Şeyma Tuğba Zeynep',
    'Ahmet Barış Burak Cem Çağrı Doğan Emre Ferhat Görkem Hakan Ilgaz İbrahim İsmail Kağan Mehmet Oğuz Ömer Şükrü Tolga Yiğit',
    'Aksoy Arslan Aydın Çelik Çetin Demir Doğan Erdoğdu Güneş Işık İnönü Kılıç Koç Öztürk Özdemir Şahin Şimşek Ünal Yıldırım Yılmaz',
  ),
  culture(
    'vi',
    6,
    'Bảo_Châu Cẩm_Tú Diễm Hà_My Hồng_Ngọc Hương Kim_Liên Lan_Anh Mai Minh_Thư Mỹ_Duyên Ngọc_Ánh Phương_Thảo Quỳnh Thanh_Hà Thảo Thu_Hiền Thùy_Linh Tuyết Yến_Nhi',
    'Anh_Dũng Bảo Công_Phượng Đăng_Khoa Đức Gia_Huy Hải Hoàng Hữu_Nghĩa Khánh Lâm Minh_Quân Nam Nhật_Minh Phúc Quang_Hải Quốc_Việt Sơn Thắng Tuấn',
    'Bùi Cao Châu Đặng Đinh Đỗ Dương Hà Hồ Hoàng Huỳnh Lê Lý Mai Ngô Nguyễn Phạm Phan Trần Trịnh Võ Vũ',
    { familyFirst: true },
  ),
  culture(
    'is',
    4,
    'Álfheiður Ásdís Birta Björk Brynhildur Dagný Edda Guðrún Hrafnhildur Ísold Jóhanna Katrín Ragnheiður Sigríður Sóley Svanhildur Þórdís Þórunn Æsa Ösp',
    'Ágúst Ari Bjarni Davíð Egill Einar Finnbogi Guðmundur Gunnar Hákon Ísak Jökull Jón Kári Ólafur Sigurður Snorri Sæmundur Þór Þorsteinn',
    'Árnason/Árnadóttir Björnsson/Björnsdóttir Einarsson/Einarsdóttir Guðmundsson/Guðmundsdóttir Gunnarsson/Gunnarsdóttir Hákonarson/Hákonardóttir Jónsson/Jónsdóttir Kristjánsson/Kristjánsdóttir Magnússon/Magnúsdóttir Ólafsson/Ólafsdóttir Sigurðsson/Sigurðardóttir Stefánsson/Stefánsdóttir Þórsson/Þórsdóttir Þorgeirsson/Þorgeirsdóttir',
  ),
  culture(
    'es',
    8,
    'Ainhoa Begoña Belén Candela Concepción Estefanía Inés Itziar Jimena Lucía Macarena Martina Mónica Nerea Noelia Rocío Sofía Triana Verónica Ximena María_José',
    'Adrián Álvaro Andrés Ángel César Damián Efraín Fermín Germán Héctor Iñaki Íñigo Jesús Joaquín Martín Nicolás Óscar Ramón Rubén Víctor José_Luis',
    'Álvarez Benítez Cañas Castaño Díaz Domínguez Fernández Gálvez García Giménez González Gutiérrez Hernández Ibáñez López Márquez Muñoz Núñez Ordóñez Peña Ramírez Sánchez Vázquez Zúñiga',
    { doubled: 0.75, doubledWith: ' ' },
  ),
  culture(
    'ro',
    5,
    'Anca Brândușa Cătălina Crina Delia Doinița Floarea Ilinca Ioana Luminița Mădălina Mihaela Nicoleta Ruxandra Sânziana Smaranda Ștefania Teodora Viorica Zenovia',
    'Andrei Bogdan Călin Cătălin Cristian Dănuț Dragoș Florin Ionuț Iulian Lucian Mircea Nicușor Octavian Radu Răzvan Sorin Ștefan Tănase Vlăduț',
    'Bălan Brâncuși Căpățână Cârstea Ciobanu Crăciun Enăchescu Grigoraș Ionescu Lăcătuș Munteanu Negrilă Păun Petrișor Popescu Răducanu Sârbu Stănescu Șerban Țiriac Ungureanu Vlăsceanu',
  ),
  culture(
    'el',
    4,
    'Αγγελική=Angeliki Αθηνά=Athina Βασιλική=Vasiliki Δήμητρα=Dimitra Ειρήνη=Eirini Ελένη=Eleni Ζωή=Zoi Θάλεια=Thaleia Ιωάννα=Ioanna Καλλιόπη=Kalliopi Μυρτώ=Myrto Χρυσούλα=Chrysoula',
    'Αλέξανδρος=Alexandros Γιώργος=Giorgos Δημήτρης=Dimitris Ηλίας=Ilias Θανάσης=Thanasis Κώστας=Kostas Λεωνίδας=Leonidas Μανώλης=Manolis Νίκος=Nikos Οδυσσέας=Odysseas Σπύρος=Spyros Χρήστος=Christos',
    'Αγγελόπουλος=Angelopoulos/Αγγελοπούλου=Angelopoulou Βλάχος=Vlachos/Βλάχου=Vlachou Γεωργίου=Georgiou Δημητρίου=Dimitriou Ζερβός=Zervos/Ζερβού=Zervou Καραγιάννης=Karagiannis/Καραγιάννη=Karagianni Μακρής=Makris/Μακρή=Makri Νικολαΐδης=Nikolaidis/Νικολαΐδου=Nikolaidou Παπαδόπουλος=Papadopoulos/Παπαδοπούλου=Papadopoulou Σταύρου=Stavrou Χατζής=Chatzis/Χατζή=Chatzi',
  ),
  culture(
    'uk',
    4,
    'Богдана=Bohdana Віра=Vira Галина=Halyna Дарина=Daryna Єва=Yeva Ївга=Yivha Катерина=Kateryna Леся=Lesia Мирослава=Myroslava Оксана=Oksana Соломія=Solomiia Юлія=Yuliia',
    'Андрій=Andrii Богдан=Bohdan Василь=Vasyl Григорій=Hryhorii Дмитро=Dmytro Євген=Yevhen Іван=Ivan Максим=Maksym Назар=Nazar Олексій=Oleksii Тарас=Taras Ярослав=Yaroslav',
    'Бондаренко=Bondarenko Гончар=Honchar Ґудзь=Gudz Дем’яненко=Demianenko Іваненко=Ivanenko Коваль=Koval Кравчук=Kravchuk Лисенко=Lysenko Мельник=Melnyk Петренко=Petrenko Шевченко=Shevchenko Яворський=Yavorskyi/Яворська=Yavorska',
  ),
  culture(
    'bg',
    2,
    'Ана=Ana Ваня=Vanya Десислава=Desislava Елица=Elitsa Камелия=Kameliya Мария=Mariya Ралица=Ralitsa Цветелина=Tsvetelina',
    'Асен=Asen Борис=Boris Владимир=Vladimir Георги=Georgi Живко=Zhivko Калоян=Kaloyan Петър=Petar Щерю=Shteryu',
    'Ангелов=Angelov/Ангелова=Angelova Димитров=Dimitrov/Димитрова=Dimitrova Иванов=Ivanov/Иванова=Ivanova Колев=Kolev/Колева=Koleva Тодоров=Todorov/Тодорова=Todorova Христов=Hristov/Христова=Hristova',
  ),
  culture(
    'zh',
    3,
    '美玲=Meiling 小燕=Xiaoyan 靜怡=Jingyi 雅婷=Yating 秀英=Xiuying 麗華=Lihua 欣怡=Xinyi 雨桐=Yutong 詩涵=Shihan 曉明=Xiaoming',
    '志明=Zhiming 家豪=Jiahao 建國=Jianguo 俊傑=Junjie 浩然=Haoran 子軒=Zixuan 偉=Wei 宇航=Yuhang 明哲=Mingzhe 天佑=Tianyou',
    '陳=Chen 林=Lin 黃=Huang 張=Zhang 李=Li 王=Wang 吳=Wu 劉=Liu 蔡=Cai 楊=Yang 歐陽=Ouyang 司馬=Sima',
    { familyFirst: true, separator: '', doubled: 0 },
  ),
  culture(
    'ja',
    3,
    'さくら=Sakura 葵=Aoi 結衣=Yui 陽菜=Hina 美咲=Misaki 花子=Hanako 千尋=Chihiro 直美=Naomi 遥=Haruka 真由美=Mayumi',
    '蓮=Ren 大翔=Hiroto 健太=Kenta 陽太=Yota 翔=Sho 悠真=Yuma 浩二=Koji 拓海=Takumi 一郎=Ichiro 直樹=Naoki',
    '佐藤=Sato 鈴木=Suzuki 高橋=Takahashi 田中=Tanaka 渡辺=Watanabe 伊藤=Ito 山本=Yamamoto 中村=Nakamura 小林=Kobayashi 加藤=Kato 吉田=Yoshida 五十嵐=Igarashi',
    { familyFirst: true, doubled: 0 },
  ),
  culture(
    'ko',
    2,
    '서연=Seoyeon 지우=Jiwoo 하은=Haeun 민서=Minseo 수빈=Subin 유진=Yujin 은지=Eunji 다은=Daeun',
    '민준=Minjun 서준=Seojun 도윤=Doyun 예준=Yejun 시우=Siwoo 주원=Juwon 지호=Jiho 현우=Hyunwoo',
    '김=Kim 이=Lee 박=Park 최=Choi 정=Jung 강=Kang 조=Cho 윤=Yoon',
    { familyFirst: true, separator: '', doubled: 0 },
  ),
  culture(
    'ga',
    4,
    'Aoife Bríd Caoimhe Ciara Clíodhna Deirdre Éabha Fionnuala Gráinne Máire Muireann Niamh Nuala Órla Róisín Sadhbh Saoirse Síle Sinéad Siobhán',
    'Aodhán Brendan Cathal Ciarán Cillian Conchúr Dáithí Diarmuid Donncha Eoghan Fiachra Fionn Lorcán Máirtín Oisín Pádraig Rónán Ruairí Seán Tadhg',
    "Byrne Connolly Doyle Fitzgerald Gallagher Kavanagh MacCarthy McGrath Murphy Nolan O'Brien O'Callaghan O'Connor O'Donnell O'Hara O'Leary O'Malley O'Neill O'Sullivan Ó_Súilleabháin/Ní_Shúilleabháin Ó_Dálaigh/Ní_Dhálaigh",
  ),
  culture(
    'ar',
    7,
    'Aisha Amal Dalia Dunya Fatima Hafsa Hanan Huda Jamila Khadija Layla Maryam Nadia Noor Rania Safiya Salma Samira Yasmin Zaynab',
    'Abdallah Abd_al-Rahman Ahmad Ali Bilal Faisal Hamza Hasan Ibrahim Idris Jamal Khalid Mahmoud Mustafa Nabil Omar Rashid Tariq Yusuf Ziyad',
    "Abu_Bakr Ben_Youssef Bouazizi Darwish El_Amrani El-Khatib Ghazali Haddad Khalil Mansour Nasser Qabbani Rahmani Saleh Sa'id Tazi al-Farsi al-Fihri al-Hashimi al-Rashid al-Sharif al-Zahrawi",
    { doubled: 0 },
  ),
  culture(
    'hu',
    3,
    'Ágnes Anikó Boglárka Csilla Dóra Emőke Enikő Eszter Gyöngyi Ildikó Kincső Orsolya Piroska Réka Tünde Zsófia',
    'Ákos Árpád Balázs Csaba Dénes Ernő Gergő Győző György István Jenő László Lőrinc Miklós Sándor Zoltán',
    'Balogh Bartók Erdős Fehér Gárdonyi Győri Hegedűs Horváth Kertész Kovács Lukács Molnár Nagy Petőfi Simó Szabó Szűcs Tóth Vörös Zsigmond',
    { familyFirst: true },
  ),
  culture(
    'da',
    3,
    'Ane Bodil Dorthe Gry Inger Jytte Karoline Kirsten Maren Mette Pernille Ragnhild Sidsel Solveig Søs Åse',
    'Asbjørn Bjørn Frode Håvard Jeppe Jørgen Kåre Lasse Magnus Øyvind Rasmus Søren Stig Torbjørn Troels Åge',
    'Andresen Bjørnson Brøndsted Dahl Fjeldså Gram Haugen Højgaard Ibsen Jensen Kierkegaard Kjær Møller Næss Nørgaard Ødegård Pedersen Rømer Skovgård Sørensen',
  ),
  culture(
    'pt',
    4,
    'Ângela Beatriz Conceição Débora Fernanda Graça Inês Joana Letícia Lídia Luísa Márcia Mônica Raquel Sílvia Thaís Vitória',
    'Afonso António Caetano César Duarte Estêvão Fábio Gonçalo Hélio João Joaquim Lázaro Luís Márcio Otávio Simão Tomé Zeferino',
    'Araújo Assunção Brandão Câmara Conceição Falcão Gonçalves Guimarães Leitão Magalhães Mourão Nóbrega Pessanha Queirós Sá Simões Sequeira Vilaça',
    { doubled: 0.25, doubledWith: ' ' },
  ),
  culture(
    'hi',
    4,
    'Aditi Ananya Deepika Gayatri Indira Ishani Kamala Kavya Lakshmi Meera Nandini Padma Priya Radha Saraswati Shreya Sunita Tara Uma Vidya',
    'Aarav Ajay Arjun Ashok Dev Gopal Harish Ishaan Kiran Krishna Mohan Nikhil Prakash Rahul Rohan Sanjay Suresh Tarun Varun Vikram',
    'Acharya Banerjee Bhatt Chakraborty Chaudhari Deshpande Gupta Iyer Joshi Kapoor Kulkarni Mehta Menon Mukherjee Nair Patel Rao Reddy Sharma Subramanian',
  ),
  culture(
    'yo',
    2,
    'Adébáyọ̀ Àbẹ̀kẹ́ Bísọ́lá Fọlákẹ́ Ìyábọ̀ Mojísọ́lá Ọláídé Ṣadé Títílayọ̀ Yétúndé',
    'Adéwálé Akínṣọlá Babátúndé Fẹ́mi Káyọ̀dé Kọ́láwọlé Olúṣẹ́gun Ọlámidé Ṣẹ̀gun Táyọ̀',
    'Adéyẹmí Àjàyí Akínwándé Awólọ́wọ̀ Fálétí Ògúndípẹ̀ Olátúnjí Ọ̀ṣọ́fisan Ṣóyínká Táíwò',
  ),
  // Given name and family name are one word here, which is the family name to LDAP: `sn` is required, `givenName` is not.
  culture(
    'id',
    1.2,
    '',
    '',
    'Wulandari Setiawan Kartika Suryadi Lestari Prasetyo Hartono Maharani Wibowo Puspita Gunawan Anggraini Saputra Nurhaliza Kurniawan Handoko',
  ),
];

/** Letters that have no decomposition into a base letter and marks. */
const LETTERS = new Map(
  Object.entries({
    ß: 'ss',
    æ: 'ae',
    œ: 'oe',
    ø: 'o',
    ł: 'l',
    đ: 'd',
    ð: 'd',
    þ: 'th',
    ı: 'i',
  }),
);
const GERMAN_UMLAUTS = new Map(Object.entries({ ä: 'ae', ö: 'oe', ü: 'ue' }));

/**
 * The form a name takes in an id: `Ó Súilleabháin` becomes `o-suilleabhain`, `Müller` in German `mueller`.
 * @param {string} latin
 * @param {string} language
 */
export function asciiFor(latin, language) {
  const lower = latin.normalize('NFC').replaceAll('İ', 'i').toLowerCase();
  return [...lower]
    .map((letter) => (language === 'de' && GERMAN_UMLAUTS.get(letter)) || (LETTERS.get(letter) ?? letter))
    .join('')
    .normalize('NFD')
    .replaceAll(' ', '-')
    .replace(/[^a-z0-9-]/g, '');
}
