"""The literature that theorems refer to, by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict


class Reference(TypedDict):
    """One entry: who, what, when, where. A period is printed after the authors and the title."""

    authors: str
    title: str
    year: int
    venue: str
    url: str


def _arxiv(authors: str, title: str, year: int, number: str, venue: str = "arXiv") -> Reference:
    return {
        "authors": authors,
        "title": title,
        "year": year,
        "venue": venue,
        "url": f"https://arxiv.org/abs/{number}",
    }


BIBLIOGRAPHY: dict[str, Reference] = {
    "ainslie2023": _arxiv(
        "J. Ainslie, J. Lee-Thorp, M. de Jong, Y. Zemlyanskiy, F. Lebrón, S. Sanghai",
        "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints",
        2023, "2305.13245", "EMNLP",
    ),
    "bahdanau2014": _arxiv(
        "D. Bahdanau, K. Cho, Y. Bengio",
        "Neural Machine Translation by Jointly Learning to Align and Translate",
        2015, "1409.0473", "ICLR",
    ),
    "bienayme1853": {
        "authors": "I.-J. Bienaymé",
        "title": "Considérations à l'appui de la découverte de Laplace sur la loi de probabilité "
        "dans la méthode des moindres carrés",
        "year": 1853,
        "venue": "Comptes rendus de l'Académie des sciences 37, 309–324",
        "url": "https://gallica.bnf.fr/ark:/12148/bpt6k2994c",
    },
    "blanchard2021": _arxiv(
        "P. Blanchard, D. J. Higham, N. J. Higham",
        "Accurately computing the log-sum-exp and softmax functions",
        2021, "1909.03469", "IMA Journal of Numerical Analysis 41(4)",
    ),
    "boyd2004": {
        "authors": "S. Boyd, L. Vandenberghe",
        "title": "Convex Optimization",
        "year": 2004,
        "venue": "Cambridge University Press",
        "url": "https://web.stanford.edu/~boyd/cvxbook/",
    },
    "bridle1990": {
        "authors": "J. S. Bridle",
        "title": "Probabilistic Interpretation of Feedforward Classification Network Outputs, "
        "with Relationships to Statistical Pattern Recognition",
        "year": 1990,
        "venue": "Neurocomputing, NATO ASI Series 68, 227–236",
        "url": "https://doi.org/10.1007/978-3-642-76153-9_28",
    },
    "child2019": _arxiv(
        "R. Child, S. Gray, A. Radford, I. Sutskever",
        "Generating Long Sequences with Sparse Transformers",
        2019, "1904.10509",
    ),
    "cover2006": {
        "authors": "T. M. Cover, J. A. Thomas",
        "title": "Elements of Information Theory",
        "year": 2006,
        "venue": "Wiley, 2nd edition",
        "url": "https://doi.org/10.1002/047174882X",
    },
    "dao2022": _arxiv(
        "T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré",
        "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness",
        2022, "2205.14135", "NeurIPS",
    ),
    "dao2023": _arxiv(
        "T. Dao",
        "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning",
        2024, "2307.08691", "ICLR",
    ),
    "deepseek2024": _arxiv(
        "DeepSeek-AI",
        "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model",
        2024, "2405.04434",
    ),
    "elhage2021": {
        "authors": "N. Elhage, N. Nanda, C. Olsson, T. Henighan, N. Joseph, B. Mann, et al",
        "title": "A Mathematical Framework for Transformer Circuits",
        "year": 2021,
        "venue": "Transformer Circuits Thread",
        "url": "https://transformer-circuits.pub/2021/framework/index.html",
    },
    "glorot2010": {
        "authors": "X. Glorot, Y. Bengio",
        "title": "Understanding the difficulty of training deep feedforward neural networks",
        "year": 2010,
        "venue": "AISTATS, PMLR 9, 249–256",
        "url": "https://proceedings.mlr.press/v9/glorot10a.html",
    },
    "guo2017": _arxiv(
        "C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger",
        "On Calibration of Modern Neural Networks",
        2017, "1706.04599", "ICML",
    ),
    "higham2002": {
        "authors": "N. J. Higham",
        "title": "Accuracy and Stability of Numerical Algorithms",
        "year": 2002,
        "venue": "SIAM, 2nd edition",
        "url": "https://doi.org/10.1137/1.9780898718027",
    },
    "jiang2023": _arxiv(
        "A. Q. Jiang, A. Sablayrolles, A. Mensch, C. Bamford, D. S. Chaplot, et al",
        "Mistral 7B",
        2023, "2310.06825",
    ),
    "katharopoulos2020": _arxiv(
        "A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret",
        "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention",
        2020, "2006.16236", "ICML",
    ),
    "lecun1998": {
        "authors": "Y. LeCun, L. Bottou, G. B. Orr, K.-R. Müller",
        "title": "Efficient BackProp",
        "year": 1998,
        "venue": "Neural Networks: Tricks of the Trade, Springer",
        "url": "https://doi.org/10.1007/3-540-49430-8_2",
    },
    "levin2009": {
        "authors": "D. A. Levin, Y. Peres, E. L. Wilmer",
        "title": "Markov Chains and Mixing Times",
        "year": 2009,
        "venue": "American Mathematical Society",
        "url": "https://pages.uoregon.edu/dlevin/MARKOV/",
    },
    "milakov2018": _arxiv(
        "M. Milakov, N. Gimelshein",
        "Online normalizer calculation for softmax",
        2018, "1805.02867",
    ),
    "pope2022": _arxiv(
        "R. Pope, S. Douglas, A. Chowdhery, J. Devlin, J. Bradbury, A. Levskaya, et al",
        "Efficiently Scaling Transformer Inference",
        2023, "2211.05102", "MLSys",
    ),
    "press2021": _arxiv(
        "O. Press, N. A. Smith, M. Lewis",
        "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
        2022, "2108.12409", "ICLR",
    ),
    "rabe2021": _arxiv(
        "M. N. Rabe, C. Staats",
        "Self-attention Does Not Need $O(n^2)$ Memory",
        2021, "2112.05682",
    ),
    "sanderson2024": {
        "authors": "G. Sanderson (3Blue1Brown)",
        "title": "Attention in transformers, visually explained (Deep learning, chapter 6)",
        "year": 2024,
        "venue": "Video",
        "url": "https://www.3blue1brown.com/lessons/attention",
    },
    "shazeer2019": _arxiv(
        "N. Shazeer",
        "Fast Transformer Decoding: One Write-Head is All You Need",
        2019, "1911.02150",
    ),
    "srivastava2014": {
        "authors": "N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever, R. Salakhutdinov",
        "title": "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
        "year": 2014,
        "venue": "Journal of Machine Learning Research 15, 1929–1958",
        "url": "https://jmlr.org/papers/v15/srivastava14a.html",
    },
    "su2021": _arxiv(
        "J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu",
        "RoFormer: Enhanced Transformer with Rotary Position Embedding",
        2021, "2104.09864",
    ),
    "vaswani2017": _arxiv(
        "A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, Ł. Kaiser, "
        "I. Polosukhin",
        "Attention Is All You Need",
        2017, "1706.03762", "NeurIPS",
    ),
}  # fmt: skip

_VENUES = {"ko": {"Video": "영상"}}  # what is no name


def references(keys: Iterable[str], language: str = "en") -> list[tuple[str, Reference]]:
    """Return the entries of `keys` with their keys, as they are printed in `language`.

    Examples
    --------
    >>> references(["sanderson2024"], "ko")[0][1]["venue"]
    '영상'
    """
    venues = _VENUES.get(language, {})
    found = []
    for key in keys:
        entry = BIBLIOGRAPHY[key].copy()
        entry["venue"] = venues.get(entry["venue"], entry["venue"])
        found.append((key, entry))
    return found
