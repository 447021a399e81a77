"""Every word that a reader sees around the mathematics, in every language: one table for each kind.

A test fails when a key lacks a language, when a rule of the kernel has no words, or an axiom no
translation.
"""

from __future__ import annotations

from collections.abc import Mapping

Text = Mapping[str, str]

LANGUAGES = ("en", "ko")

# labels and sentences of the pages
WORDS: dict[str, dict[str, str]] = {
    "theorem": {
        "en": "Theorem",
        "ko": "정리",
    },
    "tool": {
        "en": "Lemma",
        "ko": "보조정리",
    },
    "proof": {
        "en": "Proof",
        "ko": "증명",
    },
    "hypotheses": {
        "en": "Hypotheses",
        "ko": "가정",
    },
    "statement": {
        "en": "Statement",
        "ko": "명제",
    },
    "rests_on": {
        "en": "Rests on",
        "ko": "근거",
    },
    "axioms": {
        "en": "Axioms",
        "ko": "공리",
    },
    "lemmas": {
        "en": "Theorems used",
        "ko": "사용한 정리",
    },
    "definitions": {
        "en": "Definitions",
        "ko": "정의",
    },
    "false": {
        "en": "What would be false",
        "ko": "성립하지 않는 명제",
    },
    "numbers": {
        "en": "In numbers",
        "ko": "숫자로 보기",
    },
    "counterexample": {
        "en": "Counterexample",
        "ko": "반례",
    },
    "refused": {
        "en": "The kernel refuses it",
        "ko": "커널의 거부 사유",
    },
    "left": {
        "en": "left side",
        "ko": "좌변",
    },
    "right": {
        "en": "right side",
        "ko": "우변",
    },
    "rank": {
        "en": "rank",
        "ko": "계수(rank)",
    },
    "bound": {
        "en": "bound",
        "ko": "상계",
    },
    "rank_joint": {
        "en": "rank of both matrices together",
        "ko": "두 행렬을 위아래로 쌓은 행렬의 계수(rank)",
    },
    "rank_alone": {
        "en": "rank of the second alone",
        "ko": "둘째 행렬만의 계수(rank)",
    },
    "misfit": {
        "en": "The sizes do not fit",
        "ko": "크기가 맞지 않습니다",
    },
    "array": {
        "en": "array",
        "ko": "배열",
    },
    "missing": {
        "en": "which has no entry",
        "ko": "여기에 없는 성분",
    },
    "without": {
        "en": "Without the hypothesis",
        "ko": "가정 없이",
    },
    "changed": {
        "en": "With other hypotheses",
        "ko": "가정을 바꾸어",
    },
    "references": {
        "en": "References",
        "ko": "참고문헌",
    },
    "bibliography": {
        "en": "Bibliography",
        "ko": "참고문헌",
    },
    "index": {
        "en": "Index",
        "ko": "찾아보기",
    },
    "contents": {
        "en": "Contents",
        "ko": "차례",
    },
    "notation": {
        "en": "Notation",
        "ko": "표기",
    },
    "symbol": {
        "en": "symbol",
        "ko": "기호",
    },
    "meaning": {
        "en": "meaning",
        "ko": "뜻",
    },
    "shape": {
        "en": "shape",
        "ko": "모양",
    },
    "shapes": {
        "en": "Shapes",
        "ko": "모양",
    },
    "quantity": {
        "en": "quantity",
        "ko": "대상",
    },
    "rules": {
        "en": "Rules of inference",
        "ko": "추론 규칙",
    },
    "rule": {
        "en": "rule",
        "ko": "규칙",
    },
    "figures": {
        "en": "Figures",
        "ko": "그림",
    },
    "figure": {
        "en": "Figure",
        "ko": "그림",
    },
    "chapter": {
        "en": "Chapter",
        "ko": "장",
    },
    "step": {
        "en": "step",
        "ko": "단계",
    },
    "part_base": {
        "en": "Base case",
        "ko": "시작 단계",
    },
    "part_step": {
        "en": "Induction step",
        "ko": "귀납 단계",
    },
    "part": {
        "en": "Part",
        "ko": "부분",
    },
    "used_by": {
        "en": "Used by",
        "ko": "이 정리를 쓰는 곳",
    },
    "steps": {
        "en": "steps",
        "ko": "단계",
    },
    "see": {
        "en": "see",
        "ko": "참조",
    },
    "nothing": {
        "en": "nothing but definitions",
        "ko": "정의뿐",
    },
    "proved": {
        "en": "proved",
        "ko": "증명됨",
    },
    "derived": {
        "en": "derived",
        "ko": "유도됨",
    },
    "tested": {
        "en": "tested",
        "ko": "수치로 확인됨",
    },
    "axiom": {
        "en": "axiom",
        "ko": "공리",
    },
    "definition": {
        "en": "definition",
        "ko": "정의",
    },
    "dimensions": {
        "en": "Dimensions",
        "ko": "차원",
    },
    "indices": {
        "en": "Indices",
        "ko": "첨자",
    },
    "scalars": {
        "en": "Real numbers",
        "ko": "실수",
    },
    "tensors": {
        "en": "Real arrays",
        "ko": "실수 배열",
    },
    "predicates": {
        "en": "Masks and conditions on indices",
        "ko": "마스크와 첨자 조건",
    },
    "functions": {
        "en": "Index functions",
        "ko": "첨자 함수",
    },
    "family": {
        "en": "Random variables with finite moments",
        "ko": "적률이 유한한 확률변수",
    },
    "independent_family": {
        "en": "Random with finite moments and independent components",
        "ko": "적률이 유한하고 성분이 서로 독립인 확률변수",
    },
    "independent": {
        "en": "Independent of each other",
        "ko": "서로 독립",
    },
    "assume": {
        "en": "Assumed",
        "ko": "가정하는 것",
    },
    "title": {
        "en": "Attention, derived",
        "ko": "어텐션, 유도하다",
    },
    "subtitle": {
        "en": (
            "Every claim that explanations of attention make, proved for symbolic dimensions and "
            "checked by a small kernel"
        ),
        "ko": (
            "어텐션을 설명할 때 등장하는 모든 주장을, 차원을 기호로 둔 채 증명하고 작은 커널로 "
            "검사했습니다"
        ),
    },
    "generated": {
        "en": (
            "Written by attnproofs {version} from {theorems} replayed certificates with {steps} "
            "steps."
        ),
        "ko": (
            "재검사를 마친 증명서 {theorems}개(총 {steps}단계)를 바탕으로 attnproofs {version}에서 "
            "만들었습니다."
        ),
    },
    "how_to_read": {
        "en": "How to read this book",
        "ko": "이 책을 읽는 법",
    },
    "how_text": {
        "en": (
            "Every theorem shows what is assumed, what is claimed, and a numbered derivation. "
            "Each line carries the rule that leads to it; the rules are listed at the end. The "
            "margin shows the evidence and the first digits of the statement's digest: a proof "
            "of another statement has another digest. After most proofs stands a nearby claim "
            "that is false, with numbers that refute it. Tokens are rows, and indices start at "
            "1 unless a range says otherwise."
        ),
        "ko": (
            "정리마다 가정과 명제를 먼저 적고, 번호를 붙인 유도를 이어 적습니다. 유도의 각 "
            "줄에는 그 줄을 얻는 데 쓴 규칙이 있으며, 규칙의 목록은 책 끝에 있습니다. 여백에는 "
            "근거의 종류와 명제의 지문(다이제스트) 앞부분을 적었습니다. 명제가 다르면 지문도 "
            "다릅니다. 대부분의 증명 다음에는 비슷하지만 성립하지 않는 명제를, 그것을 반박하는 "
            "숫자와 함께 실었습니다. 토큰은 행이고, 범위를 따로 "
            "적지 않으면 첨자는 1부터 시작합니다. 그림 속의 글자는 영어로 두었고, 그 뜻은 그림 "
            "설명에 적었습니다."
        ),
    },
    "notation_text": {
        "en": (
            r"Symbols as they occur in this book, and the definitions in the order in which they "
            r"build on each other. $[P]$ is 1 if the condition $P$ holds and 0 otherwise; for a "
            r"size $n$, $[n]$ is the range $1,\dots,n$, and $[0:n]$, or an axis $0:n$, runs from "
            r"0 to $n$. $(f_j)_j$ is the array with the entries "
            r"$f_j$, and $X_{i,:}$ is row $i$ of $X$. A size that cannot be read off the arrays "
            r"stands before a semicolon: $\operatorname{softmax}(n;s)$ is the softmax of the "
            r"first $n$ entries of $s$, and $\operatorname{scores}(T,T;Q,K)$ are the scores of "
            r"the first $T$ queries and the first $T$ keys. LSE (log-sum-exp) is the logarithm "
            r"of a sum of exponentials, $\operatorname{LSE}(s)=\ln\sum_j e^{s_j}$; definitions and "
            r"derivations spell it logsumexp. An empty sum is 0, and a sum reaches to the next "
            r"$+$ or $-$. In counterexamples a random variable is given by its values and their "
            r"probabilities, $\{x:p,\dots\}$, with a power for independent components of the "
            r"same law, and a mask by the set of indices that it keeps. In the numbers of "
            r"counterexamples division by 0 gives 0 by convention; no theorem rests on it."
        ),
        "ko": (
            r"이 책에 나오는 기호와, 앞의 것을 바탕으로 쌓아 가는 순서대로 적은 정의입니다. "
            r"$[P]$는 조건 $P$가 참이면 1, 아니면 0이고, 크기 $n$에 대한 $[n]$은 범위 "
            r"$1,\dots,n$이며, $[0:n]$이나 축 $0:n$은 0부터 $n$까지입니다. $(f_j)_j$는 성분이 "
            r"$f_j$인 배열이고, $X_{i,:}$는 $X$의 $i$번째 행입니다. 배열만 보고 알 수 없는 "
            r"크기는 세미콜론 앞에 적습니다. "
            r"$\operatorname{softmax}(n;s)$는 $s$의 앞 $n$개 성분의 소프트맥스이고, "
            r"$\operatorname{scores}(T,T;Q,K)$는 앞 $T$개의 쿼리와 앞 $T$개의 키의 점수입니다. "
            r"LSE(로그합지수)는 지수의 합의 로그, 곧 $\operatorname{LSE}(s)=\ln\sum_j "
            r"e^{s_j}$이며, 정의와 유도에서는 logsumexp로 적습니다. 빈 합은 0이고, 합의 범위는 "
            r"다음 $+$나 $-$ 앞까지입니다. 반례에서 확률변수는 값과 확률을 "
            r"$\{x:p,\dots\}$로, 조건은 그것이 참인 첨자의 집합으로 적으며, 거듭제곱은 성분들이 "
            r"서로 독립으로 같은 분포를 따른다는 뜻입니다. 반례의 숫자에서는 0으로 나눈 값을 "
            r"0으로 약속하며, "
            r"이 약속에 기대는 정리는 없습니다."
        ),
    },
    "shapes_text": {
        "en": "Shapes of the arrays of one attention layer. Rows are tokens.",
        "ko": "어텐션 층 하나에 나오는 배열의 모양입니다. 행이 토큰입니다.",
    },
    "rules_text": {
        "en": (
            "A line follows from the line before by one or more of these rules; the kernel "
            "checks each of them anew."
        ),
        "ko": (
            "각 줄은 앞줄에 다음 규칙을 하나 이상 적용해 얻습니다. 커널은 적용된 규칙을 하나하나 "
            "다시 검사합니다."
        ),
    },
    "axioms_text": {
        "en": "What the rules assume. No theorem of this book is among them.",
        "ko": "규칙들이 전제하는 공리입니다. 이 책의 정리는 하나도 들어 있지 않습니다.",
    },
    "missing_figure": {
        "en": "Figure not drawn; it shows:",
        "ko": "그리지 않은 그림입니다. 내용은 다음과 같습니다.",
    },
    "as_matrix": {
        "en": "a matrix",
        "ko": "행렬",
    },
    "by": {
        "en": "by",
        "ko": "규칙:",
    },
    "ind_base": {
        "en": "Base case",
        "ko": "시작 단계",
    },
    "ind_step": {
        "en": "Induction step, with the claim for the current value as the induction hypothesis",
        "ko": "귀납 단계: 현재 값에 대한 명제를 귀납 가정으로 둡니다",
    },
    "entry_row": {
        "en": "row i of X, all columns",
        "ko": "X의 i번째 행 전체",
    },
    "not_refuted": {
        "en": "no counterexample is shown",
        "ko": "반례를 싣지 않음",
    },
    "light_dark": {
        "en": "Other language",
        "ko": "다른 언어",
    },
    "shape_proof": {
        "en": (
            "Reading the definition: every entry that occurs lies in its axis, so the array is "
            "well formed on these axes."
        ),
        "ko": (
            "정의에서 바로 나옵니다. 등장하는 모든 성분의 첨자가 제 범위 안에 있으므로 배열은 "
            "이 축들 위에서 잘 정의됩니다."
        ),
    },
}

# rule of the kernel -> what a reader is told in a line's reason
RULES: dict[str, dict[str, str]] = {
    "ring": {
        "en": "algebra",
        "ko": "대수 계산",
    },
    "expring": {
        "en": "algebra with exp",
        "ko": "지수의 대수 계산",
    },
    "unfold": {
        "en": "definition",
        "ko": "정의",
    },
    "rec": {
        "en": "recursion",
        "ko": "점화식",
    },
    "ixeq": {
        "en": "equal indices",
        "ko": "첨자의 등식",
    },
    "hyp": {
        "en": "hypothesis",
        "ko": "가정",
    },
    "lemma": {
        "en": "theorem",
        "ko": "정리",
    },
    "via": {
        "en": "in between",
        "ko": "중간 단계",
    },
    "sum_add": {
        "en": "sum of sums",
        "ko": "합의 합",
    },
    "sum_scale": {
        "en": "constant factor",
        "ko": "상수 인수",
    },
    "sum_swap": {
        "en": "exchange of sums",
        "ko": "합의 교환",
    },
    "sum_split": {
        "en": "split of a range",
        "ko": "구간 나누기",
    },
    "sum_bij": {
        "en": "change of index",
        "ko": "첨자 바꾸기",
    },
    "sum_empty": {
        "en": "empty sum",
        "ko": "빈 합",
    },
    "sum_single": {
        "en": "one term",
        "ko": "한 항의 합",
    },
    "sum_literal": {
        "en": "written out",
        "ko": "나열",
    },
    "sum_pair": {
        "en": "double sum",
        "ko": "이중합",
    },
    "ind_val": {
        "en": "known condition",
        "ko": "참·거짓이 정해진 조건",
    },
    "ind_bool": {
        "en": "indicators",
        "ko": "지시함수",
    },
    "E_lin": {
        "en": "linearity of E",
        "ko": "기댓값의 선형성",
    },
    "E_const": {
        "en": "E of a constant",
        "ko": "상수의 기댓값",
    },
    "E_indep": {
        "en": "independence",
        "ko": "독립성",
    },
    "log_exp": {
        "en": "ln and exp",
        "ko": "ln과 exp",
    },
    "sqrt_sq": {
        "en": "square root",
        "ko": "제곱근",
    },
    "sqrt_square": {
        "en": "root of a square",
        "ko": "제곱의 제곱근",
    },
    "abs_val": {
        "en": "absolute value",
        "ko": "절댓값",
    },
    "abs_bound": {
        "en": "bound of an absolute value",
        "ko": "절댓값의 한계",
    },
    "sign": {
        "en": "sign",
        "ko": "부호",
    },
    "order": {
        "en": "difference has a sign",
        "ko": "차의 부호",
    },
    "mono": {
        "en": "monotonicity",
        "ko": "단조성",
    },
    "exp_ge": {
        "en": "tangent of exp",
        "ko": "exp의 접선",
    },
    "exp_enclose": {
        "en": "Taylor enclosure",
        "ko": "테일러 부등식",
    },
    "diff": {
        "en": "differentiation",
        "ko": "미분",
    },
    "absurd": {
        "en": "impossible case",
        "ko": "불가능한 경우",
    },
    "induct": {
        "en": "induction",
        "ko": "귀납법",
    },
    "factor": {
        "en": "factors through",
        "ko": "인수분해",
    },
    "shape": {
        "en": "shape",
        "ko": "모양",
    },
}

# rule of the kernel -> what it says
RULE_TEXTS: dict[str, dict[str, str]] = {
    "ring": {
        "en": (
            "Both lines are the same expression by the laws of addition, multiplication and "
            "division by what is not zero."
        ),
        "ko": "덧셈, 곱셈, 0이 아닌 수로 나누기의 법칙에 따라 두 줄은 같은 식입니다.",
    },
    "expring": {
        "en": r"Algebra together with $\exp(a+b)=\exp(a)\exp(b)$ and $\exp(0)=1$.",
        "ko": r"대수 계산에 $\exp(a+b)=\exp(a)\exp(b)$와 $\exp(0)=1$을 더한 것입니다.",
    },
    "unfold": {
        "en": "A defined symbol is replaced by its definition, or the other way round.",
        "ko": "정의된 기호를 정의로 바꾸거나 그 반대로 바꿉니다.",
    },
    "rec": {
        "en": "One step of a recursive definition.",
        "ko": "재귀적 정의를 한 단계 적용합니다.",
    },
    "ixeq": {
        "en": "Indices that are equal under the conditions in force may be exchanged.",
        "ko": "그 자리의 조건 아래 서로 같은 첨자를 바꾸어 씁니다.",
    },
    "hyp": {
        "en": "A hypothesis of the theorem, or the induction hypothesis.",
        "ko": "정리의 가정 또는 귀납 가정을 씁니다.",
    },
    "lemma": {
        "en": "An instance of another theorem of this book.",
        "ko": "이 책의 다른 정리를 적용합니다.",
    },
    "via": {
        "en": "Through a line that is not shown.",
        "ko": "보이지 않은 중간 줄을 거칩니다.",
    },
    "sum_add": {
        "en": "A sum of $f+g$ is the sum of $f$ plus the sum of $g$.",
        "ko": "$f+g$의 합은 $f$의 합과 $g$의 합을 더한 것입니다.",
    },
    "sum_scale": {
        "en": "A factor that does not depend on the index moves in and out of the sum.",
        "ko": "첨자에 의존하지 않는 인수는 합의 안팎으로 옮길 수 있습니다.",
    },
    "sum_swap": {
        "en": "Two finite sums whose ranges do not depend on each other change places.",
        "ko": "범위가 서로 무관한 두 유한합의 순서를 바꿉니다.",
    },
    "sum_split": {
        "en": "A range of summation is cut in two.",
        "ko": "합의 구간을 둘로 나눕니다.",
    },
    "sum_bij": {
        "en": "The same terms are summed under other indices, by a bijection.",
        "ko": "일대일 대응으로 첨자를 바꾸어 같은 항들을 더합니다.",
    },
    "sum_empty": {
        "en": "A sum over no index is 0.",
        "ko": "첨자가 없는 합은 0입니다.",
    },
    "sum_single": {
        "en": "A sum over one index is its term.",
        "ko": "첨자가 하나뿐인 합은 그 항입니다.",
    },
    "sum_literal": {
        "en": "A sum over a range of numbers is written out.",
        "ko": "숫자로 된 구간의 합을 낱낱이 적습니다.",
    },
    "sum_pair": {
        "en": "A sum over a flattened axis is the double sum.",
        "ko": "펼친 축에 대한 합은 이중합입니다.",
    },
    "ind_val": {
        "en": "An indicator whose condition is known here is 1 or 0.",
        "ko": "그 자리에서 참·거짓을 아는 조건의 지시함수는 1 또는 0입니다.",
    },
    "ind_bool": {
        "en": "Rules for not, and, or, and $[c]^2=[c]$.",
        "ko": "부정·논리곱·논리합의 지시함수 규칙과 $[c]^2=[c]$입니다.",
    },
    "E_lin": {
        "en": "Expectation is linear.",
        "ko": "기댓값은 선형입니다.",
    },
    "E_const": {
        "en": "The expectation of what is not random is itself.",
        "ko": "확률적이지 않은 값의 기댓값은 그 값입니다.",
    },
    "E_indep": {
        "en": (
            "The expectation of a product of independent factors is the product of the "
            "expectations."
        ),
        "ko": "서로 독립인 인수들의 곱의 기댓값은 기댓값들의 곱입니다.",
    },
    "log_exp": {
        "en": r"$\ln(\exp t)=t$, and $\exp(\ln t)=t$ for $t>0$.",
        "ko": r"$\ln(\exp t)=t$이고, $t>0$이면 $\exp(\ln t)=t$입니다.",
    },
    "sqrt_sq": {
        "en": r"$\sqrt{t}\cdot\sqrt{t}=t$ for $t\ge0$.",
        "ko": r"$t\ge0$이면 $\sqrt{t}\cdot\sqrt{t}=t$입니다.",
    },
    "sqrt_square": {
        "en": r"$\sqrt{t\cdot t}=t$ for $t\ge0$.",
        "ko": r"$t\ge0$이면 $\sqrt{t\cdot t}=t$입니다.",
    },
    "abs_val": {
        "en": "$|t|$ is $t$ or $-t$, by the sign of $t$.",
        "ko": "$t$의 부호에 따라 $|t|$는 $t$ 또는 $-t$입니다.",
    },
    "abs_bound": {
        "en": r"$|t|\le u$ if $-u\le t\le u$; and $t\le|t|$.",
        "ko": r"$-u\le t\le u$이면 $|t|\le u$이고, $t\le|t|$입니다.",
    },
    "sign": {
        "en": (
            r"The sign is read off the expression: $\exp$ is positive, squares are not "
            r"negative, and so on."
        ),
        "ko": r"식의 모양에서 부호를 읽습니다. $\exp$는 양수, 제곱은 음이 아닌 수 등입니다.",
    },
    "order": {
        "en": "The difference of both sides is an expression with a known sign.",
        "ko": "양변의 차는 부호가 알려진 식입니다.",
    },
    "mono": {
        "en": (
            r"An inequality is carried through sums, products with what is not negative, $\exp$ "
            r"and reciprocals of positives."
        ),
        "ko": r"부등식을 합, 음이 아닌 수의 곱, $\exp$, 양수의 역수를 통해 옮깁니다.",
    },
    "exp_ge": {
        "en": r"$1+t\le\exp(t)$.",
        "ko": r"$1+t\le\exp(t)$입니다.",
    },
    "exp_enclose": {
        "en": r"The Taylor sum with its remainder encloses $\exp$ of a rational number.",
        "ko": r"나머지항을 갖춘 테일러 합이 유리수의 $\exp$를 위아래로 가둡니다.",
    },
    "diff": {
        "en": r"Derivatives of sums, products, reciprocals, $\exp$ and $\ln$.",
        "ko": r"합, 곱, 역수, $\exp$, $\ln$의 미분법입니다.",
    },
    "absurd": {
        "en": "The conditions in force contradict each other, so nothing is claimed here.",
        "ko": "그 자리의 조건들이 모순이므로 주장할 것이 없습니다.",
    },
    "induct": {
        "en": "From the base case and the step, for every value.",
        "ko": "시작 단계와 귀납 단계로부터 모든 값에서 성립합니다.",
    },
    "factor": {
        "en": "The matrix is a product through an axis, so its rank is at most the axis's size.",
        "ko": "행렬이 어떤 축을 거치는 곱이므로 계수(rank)는 그 축의 크기 이하입니다.",
    },
    "shape": {
        "en": "The array is well formed on the claimed axes.",
        "ko": "배열이 주장한 축 위에서 잘 정의됩니다.",
    },
}

# axiom -> its statement as the book and the site print it; the kernel has its own in plain letters
AXIOM_TEXTS: dict[str, dict[str, str]] = {
    "field": {
        "en": (
            r"The real numbers are a field: addition and multiplication obey the commutative, "
            r"associative and distributive laws, and $1/x$ exists for $x\ne0$."
        ),
        "ko": (
            "실수는 체입니다. 덧셈과 곱셈은 교환·결합·분배 법칙을 따르고, 0이 아닌 수는 역수를 "
            "갖습니다."
        ),
    },
    "order": {
        "en": (
            "The real numbers are totally ordered, compatibly with addition and multiplication; "
            r"squares are $\ge0$."
        ),
        "ko": "실수는 덧셈·곱셈과 양립하는 전순서를 가지며, 제곱은 음수가 아닙니다.",
    },
    "exp_add": {
        "en": r"$\exp(a+b)=\exp(a)\exp(b)$.",
        "ko": r"$\exp(a+b)=\exp(a)\exp(b)$입니다.",
    },
    "exp_zero": {
        "en": r"$\exp(0)=1$.",
        "ko": r"$\exp(0)=1$입니다.",
    },
    "exp_tangent": {
        "en": r"$1+t\le\exp(t)$.",
        "ko": r"$1+t\le\exp(t)$입니다.",
    },
    "log_exp": {
        "en": r"$\ln(\exp t)=t$, and $\exp(\ln t)=t$ for $t>0$.",
        "ko": r"$\ln(\exp t)=t$이고, $t>0$이면 $\exp(\ln t)=t$입니다.",
    },
    "sqrt": {
        "en": r"$\sqrt{t}\ge0$ and $(\sqrt{t})^2=t$ for $t\ge0$.",
        "ko": r"$t\ge0$이면 $\sqrt{t}\ge0$이고 $(\sqrt{t})^2=t$입니다.",
    },
    "abs": {
        "en": r"$|t|=t$ for $t\ge0$, and $|t|=-t$ for $t\le0$.",
        "ko": r"$|t|$는 $t\ge0$이면 $t$, $t\le0$이면 $-t$입니다.",
    },
    "sum_finite": {
        "en": (
            "Finite sums: the empty sum is 0, and the rules for a disjoint union of ranges, a "
            "single term, a bijection, sums of terms, constant factors and an exchange of sums."
        ),
        "ko": (
            "유한합: 빈 합은 0이고, 서로소인 합집합, 한 항, 일대일 대응, 가법성, 상수배, 순서 "
            "교환이 성립합니다."
        ),
    },
    "sum_product": {
        "en": (
            "A sum over a product of ranges is the double sum; the first index is the slow one."
        ),
        "ko": "구간들의 곱에 대한 합은 이중합이며, 첫째 성분이 느리게 변합니다.",
    },
    "indicator": {
        "en": "$[c]$ is 1 where $c$ holds and 0 elsewhere.",
        "ko": "$[c]$는 $c$가 참인 곳에서 1, 그 밖에서 0입니다.",
    },
    "expectation": {
        "en": (
            r"$\operatorname{E}$ is linear on polynomials in random variables with finite moments, "
            r"$\operatorname{E}[1]=1$, and $\operatorname{E}[t]\ge0$ where $t\ge0$."
        ),
        "ko": (
            r"$\operatorname{E}$는 적률이 유한한 확률변수들의 다항식에 대해 선형이고 "
            r"$\operatorname{E}[1]=1$이며, $t\ge0$이면 $\operatorname{E}[t]\ge0$입니다."
        ),
    },
    "independence": {
        "en": (
            r"$\operatorname{E}[fg]=\operatorname{E}[f]\operatorname{E}[g]$ for expressions "
            "$f$, $g$ of independent blocks of random variables."
        ),
        "ko": (
            "서로 독립인 확률변수 묶음의 식 $f$, $g$에 대해 "
            r"$\operatorname{E}[fg]=\operatorname{E}[f]\operatorname{E}[g]$입니다."
        ),
    },
    "derivative": {
        "en": (
            r"The rules for partial derivatives of coordinates, sums, products, reciprocals, "
            r"$\exp$, $\ln$ and finite sums."
        ),
        "ko": r"좌표, 덧셈, 곱셈, 역수, $\exp$, $\ln$, 유한합의 편미분 규칙입니다.",
    },
    "induction": {
        "en": "Induction on the natural numbers.",
        "ko": "자연수에 대한 수학적 귀납법입니다.",
    },
    "definition": {
        "en": "Explicit and primitive-recursive definitions add nothing.",
        "ko": "명시적 정의와 원시재귀적 정의는 새로운 사실을 더하지 않습니다.",
    },
    "rank": {
        "en": (
            r"$\operatorname{rank}(M)\le r$ exactly if $M=AB$ for some $A$ with $r$ columns and "
            "$B$ with $r$ rows."
        ),
        "ko": (
            r"$\operatorname{rank}(M)\le r$인 것은 $A$의 열이 $r$개인 분해 $M=AB$가 있다는 것과 "
            "같습니다."
        ),
    },
    "exp_taylor": {
        "en": (
            r"For rational $q$ with $0\le q<N+2$, the Taylor sum up to degree $N$ encloses "
            r"$\exp(q)$ with the remainder $\frac{q^{N+1}}{(N+1)!}\cdot\frac{N+2}{N+2-q}$."
        ),
        "ko": (
            r"$0\le q<N+2$인 유리수 $q$에 대해, $N$차까지의 테일러 합은 나머지 "
            r"$\frac{q^{N+1}}{(N+1)!}\cdot\frac{N+2}{N+2-q}$와 함께 $\exp(q)$를 가둡니다."
        ),
    },
}

# chapter -> two or three sentences of introduction
INTRODUCTIONS: dict[str, dict[str, str]] = {
    "notation": {
        "en": (
            "What the symbols mean, which shapes they have, and why the two conventions, tokens "
            "as rows and tokens as columns, say the same thing."
        ),
        "ko": "기호의 뜻과 모양을 정하고, 토큰을 행으로 두든 열로 두든 같은 내용임을 보입니다.",
    },
    "scaling": {
        "en": (
            "Why scores are divided by the square root of $d_k$: the variance of a dot product "
            "of independent components grows like $d_k$, and the scaling brings it back to 1."
        ),
        "ko": (
            "점수를 $d_k$의 제곱근으로 나누는 까닭을 다룹니다. 서로 독립인 성분들의 내적은 "
            "분산이 $d_k$에 비례해 커지며, 스케일링이 이를 1로 되돌립니다."
        ),
    },
    "softmax": {
        "en": (
            "What softmax does and does not do: weights are positive and sum to one, a common "
            "shift changes nothing, and large gaps saturate it, with a gradient that vanishes."
        ),
        "ko": (
            "소프트맥스의 성질을 다룹니다. 가중치는 양수이고 합이 1이며, 점수를 함께 옮겨도 "
            "변하지 않습니다. 점수의 차가 크면 포화되어 기울기가 사라집니다."
        ),
    },
    "masking": {
        "en": (
            "A masked key has weight exactly zero, the kept weights renormalise, and causal "
            "outputs do not depend on the future. A score of zero is no mask."
        ),
        "ko": (
            "마스크된 키의 가중치는 정확히 0이고 남은 가중치는 다시 합이 1이 됩니다. 인과 "
            "마스크를 쓴 출력은 미래에 의존하지 않습니다. 점수를 0으로 두는 것은 마스크가 "
            "아닙니다."
        ),
    },
    "values": {
        "en": (
            "Outputs are weighted sums of values; what a head may write into the residual stream "
            "is limited by the rank of its projections."
        ),
        "ko": (
            "출력은 밸류의 가중합입니다. 한 헤드가 잔차 연결에 더할 수 있는 것은 사영의 "
            "계수(rank)로 제한됩니다."
        ),
    },
    "heads": {
        "en": (
            "Concatenating heads and projecting is the same as adding the heads' own projections."
        ),
        "ko": "헤드를 이어 붙여 사영하는 것은 헤드마다 사영해서 더하는 것과 같습니다.",
    },
    "computation": {
        "en": (
            "What it costs, and why caching, parallel training and tiling compute the same numbers."
        ),
        "ko": "계산량을 세고, 캐시와 병렬 학습, 타일링이 왜 같은 수를 계산하는지 보입니다.",
    },
    "gradients": {
        "en": r"The derivatives that a backward pass computes, and where they vanish. A loss "
        r"enters through its first-order part: a quantity times its gradient, summed over all "
        r"entries, such as $\mathrm{dO}$ times the output $O$.",
        "ko": r"역전파가 계산하는 미분과 그것이 사라지는 곳을 다룹니다. 손실은 일차 부분으로 "
        r"나타냅니다. 곧 어떤 양의 성분마다 그 기울기를 곱해 모두 더한 값이며, 출력 $O$이면 "
        r"$\mathrm{dO}$와 $O$의 성분별 곱의 합입니다.",
    },
    "rounding": {
        "en": (
            "How far floating-point attention may be from the exact value: the allowance is "
            "itself a theorem."
        ),
        "ko": (
            "부동소수점 어텐션이 정확한 값에서 얼마나 벗어날 수 있는지 다룹니다. 허용 오차 "
            "자체가 정리입니다."
        ),
    },
    "positions": {
        "en": "What positional encodings do to the scores.",
        "ko": "위치 인코딩이 점수에 어떤 영향을 주는지 다룹니다.",
    },
    "sums": {
        "en": "Small facts about sums, products and moments that the other chapters use.",
        "ko": "다른 장에서 쓰는 합, 곱, 적률에 관한 작은 사실들입니다.",
    },
}

# symbol -> its fixed use in the field, where it has one
MEANINGS: dict[str, dict[str, str]] = {
    "T": {
        "en": "number of tokens",
        "ko": "토큰의 수",
    },
    "d_k": {
        "en": "dimension of queries and keys",
        "ko": "쿼리와 키의 차원",
    },
    "d_v": {
        "en": "dimension of values",
        "ko": "밸류의 차원",
    },
    "d_model": {
        "en": "width of the residual stream",
        "ko": "잔차 연결의 폭",
    },
    "H": {
        "en": "number of heads",
        "ko": "헤드의 수",
    },
    "Q": {
        "en": "queries",
        "ko": "쿼리",
    },
    "K": {
        "en": "keys",
        "ko": "키",
    },
    "V": {
        "en": "values",
        "ko": "밸류",
    },
    "X": {
        "en": "token representations",
        "ko": "토큰의 표현",
    },
    "A": {
        "en": "weights",
        "ko": "가중치",
    },
    "W_Q": {
        "en": "query projection",
        "ko": "쿼리 사영",
    },
    "W_K": {
        "en": "key projection",
        "ko": "키 사영",
    },
    "W_V": {
        "en": "value projection",
        "ko": "밸류 사영",
    },
    "W_O": {
        "en": "output projection",
        "ko": "출력 사영",
    },
    "S": {
        "en": "scores",
        "ko": "점수",
    },
    "S:predicates": {
        "en": "a set of keys",
        "ko": "키의 집합",
    },
    "s": {
        "en": "scores of one row",
        "ko": "한 행의 점수",
    },
    "q": {
        "en": "a query",
        "ko": "쿼리 하나",
    },
    "k": {
        "en": "a key",
        "ko": "키 하나",
    },
    "n": {
        "en": "number of keys",
        "ko": "키의 수",
    },
    "keep": {
        "en": "the mask: which keys are kept",
        "ko": "마스크: 남는 키",
    },
    "κ": {
        "en": "a kept key of each row",
        "ko": "행마다 남는 키 하나",
    },
    "T_t": {
        "en": "number of target tokens",
        "ko": "타깃 토큰의 수",
    },
    "T_s": {
        "en": "number of source tokens",
        "ko": "소스 토큰의 수",
    },
    "X_t": {
        "en": "target tokens",
        "ko": "타깃 토큰",
    },
    "X_s": {
        "en": "source tokens",
        "ko": "소스 토큰",
    },
}

# rows of the shape table: array and shape in LaTeX, meaning
SHAPES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "X",
        "T \\times d_{\\mathrm{model}}",
        {
            "en": "token representations",
            "ko": "토큰의 표현",
        },
    ),
    (
        "Q = X W_Q",
        "T \\times d_k",
        {
            "en": "queries",
            "ko": "쿼리",
        },
    ),
    (
        "K = X W_K",
        "T \\times d_k",
        {
            "en": "keys",
            "ko": "키",
        },
    ),
    (
        "V = X W_V",
        "T \\times d_v",
        {
            "en": "values",
            "ko": "밸류",
        },
    ),
    (
        "S = Q K^{\\top}/\\sqrt{d_k} + M",
        "T \\times T",
        {
            "en": "scores with mask",
            "ko": "마스크를 더한 점수",
        },
    ),
    (
        "A = \\operatorname{softmax}(S)",
        "T \\times T",
        {
            "en": "weights, each row sums to 1",
            "ko": "가중치, 각 행의 합은 1",
        },
    ),
    (
        "O = A V",
        "T \\times d_v",
        {
            "en": "output of a head",
            "ko": "한 헤드의 출력",
        },
    ),
    (
        "\\operatorname{Concat}(O^{(1)}, \\dots, O^{(H)})",
        "T \\times H d_v",
        {
            "en": "heads side by side",
            "ko": "나란히 놓은 헤드",
        },
    ),
    (
        "W_O",
        "H d_v \\times d_{\\mathrm{model}}",
        {
            "en": "output projection",
            "ko": "출력 사영",
        },
    ),
    (
        "X + \\operatorname{Concat}(\\cdot)\\, W_O",
        "T \\times d_{\\mathrm{model}}",
        {
            "en": "after the residual connection",
            "ko": "잔차 연결 뒤",
        },
    ),
)


def word(key: str, language: str) -> str:
    """Return a word or sentence; a key or language that is missing is an error."""
    return WORDS[key][language]


def choose(text: Text, language: str) -> str:
    """Return `text` in `language`, or in English where a user's own theorem has no other."""
    return text.get(language) or text.get("en") or next(iter(text.values()), "")
