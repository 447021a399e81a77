"""Captions and alternative texts of the figures, by language; math stands between dollars."""

from __future__ import annotations

CAPTIONS: dict[str, dict[str, dict[str, str]]] = {
    "figure_qk_variance": {
        "caption": {
            "en": (
                "Variance of the dot product of independent standard Gaussian queries and keys, "
                "against their dimension: theory (lines) and 4096 pairs per point, with two "
                "standard errors. Raw products have variance $d_k$, scaled ones variance 1."
            ),
            "ko": (
                "서로 독립인 표준 정규 쿼리와 키의 내적이 갖는 분산을 차원에 따라 나타낸 "
                "그림입니다. 선은 이론값, 점은 4096쌍에서 측정한 값이며 막대는 표준오차의 두 "
                "배입니다. 그대로 둔 내적의 분산은 $d_k$, 스케일링한 내적의 분산은 1입니다."
            ),
        },
        "alt": {
            "en": (
                "Log-log plot. The variance of q·k rises on the line y = d_k from 1 to 1024; the "
                "variance of q·k divided by the square root of d_k stays on the line y = 1."
            ),
            "ko": (
                "로그-로그 그림. q·k의 분산은 y = d_k 직선을 따라 1에서 1024까지 커지고, d_k의 "
                "제곱근으로 나눈 q·k의 분산은 y = 1 직선 위에 머무릅니다."
            ),
        },
    },
    "figure_saturation": {
        "caption": {
            "en": (
                "A softmax over 100 keys as the scores grow. Left: mean entropy, predicted "
                "(lines) and measured (points); a star marks the factor $1/\\sqrt{d_k}$. Right: "
                "mean largest weight, and the bound from the gap $\\Delta$ between the two "
                "largest scores, or $1/n$ where that is more."
            ),
            "ko": (
                "점수가 커질 때 100개의 키에 대한 소프트맥스가 어떻게 변하는지 보여 줍니다. "
                "왼쪽은 평균 엔트로피의 예측값(선)과 측정값(점)이고, 별표는 배율 "
                "$1/\\sqrt{d_k}$의 자리입니다. 오른쪽은 가장 큰 가중치의 평균과, 가장 큰 두 "
                "점수의 차 $\\Delta$에서 얻는 하한입니다(하한이 $1/n$보다 작으면 $1/n$)."
            ),
        },
        "alt": {
            "en": (
                "Two panels against the factor on the scores. The entropy falls from ln 100 to "
                "near 0, earlier for larger d_k, and all four stars lie at the same height near "
                "4.1. The largest weight rises towards 1 and stays above its dotted bound."
            ),
            "ko": (
                "점수에 곱한 배율에 따른 두 그림. 엔트로피는 ln 100에서 0 가까이로 떨어지며 "
                "d_k가 클수록 더 일찍 떨어지고, 네 별표는 모두 4.1 부근의 같은 높이에 있습니다. "
                "가장 큰 가중치는 1을 향해 커지며 점선으로 그린 하한보다 늘 위에 있습니다."
            ),
        },
    },
    "figure_jacobian": {
        "caption": {
            "en": (
                "Absolute row sum of the softmax Jacobian against the weight: it vanishes when "
                "the weight is near 0 or 1, which is why a saturated softmax passes no gradient."
            ),
            "ko": (
                "소프트맥스 야코비 행렬의 한 행에서 절댓값의 합을 가중치에 따라 나타냈습니다. "
                "가중치가 0이나 1에 가까우면 이 합이 사라지므로, 포화된 소프트맥스로는 기울기가 "
                "흐르지 않습니다."
            ),
        },
        "alt": {
            "en": (
                "A parabola from 0 at p = 0 over one half at p = 1/2 back to 0 at p = 1, with "
                "the measured points on it."
            ),
            "ko": (
                "p = 0에서 0, p = 1/2에서 2분의 1, p = 1에서 다시 0이 되는 포물선과 그 위에 놓인 "
                "측정점들."
            ),
        },
    },
    "figure_masks": {
        "caption": {
            "en": (
                "Four masks for eight tokens: filled cells are kept, hatched ones have weight "
                "exactly 0. Rows are queries, columns are keys."
            ),
            "ko": (
                "토큰 8개에 대한 네 가지 마스크입니다. 채운 칸은 남고, 빗금 친 칸의 가중치는 "
                "정확히 0입니다. 행은 쿼리, 열은 키입니다."
            ),
        },
        "alt": {
            "en": (
                "Four 8 by 8 grids: a lower triangle (causal), five full columns (padding), a "
                "diagonal band of width 3 (window), and three triangles on the diagonal "
                "(documents)."
            ),
            "ko": (
                "8×8 격자 네 개: 아래 삼각형(인과), 채워진 다섯 열(패딩), 폭 3의 대각 띠(윈도), "
                "대각선 위의 삼각형 세 개(문서)."
            ),
        },
    },
    "figure_orientations": {
        "caption": {
            "en": (
                "The two conventions, stage by stage. The same query token is highlighted: a row "
                "on the left, a column on the right; the arrow shows the axis of the softmax. "
                "Every matrix on the right is the transpose of its counterpart."
            ),
            "ko": (
                "두 가지 표기 방식을 단계별로 나란히 놓았습니다. 강조한 것은 같은 쿼리 토큰으로, "
                "왼쪽에서는 행, 오른쪽에서는 열입니다. 화살표는 소프트맥스를 취하는 축입니다. "
                "오른쪽의 모든 행렬은 왼쪽 행렬의 전치입니다."
            ),
        },
        "alt": {
            "en": (
                "Left: Q = X W_Q, S = Q K^T, O = A V with tokens as rows and a softmax along "
                "rows. Right: Q_c = W_Q^T X_c, S_c = K_c^T Q_c, O_c = V_c A_c with tokens as "
                "columns and a softmax along columns."
            ),
            "ko": (
                "왼쪽: 토큰이 행일 때 Q = X W_Q, S = Q K^T, O = A V이고 소프트맥스는 행 방향. "
                "오른쪽: 토큰이 열일 때 Q_c = W_Q^T X_c, S_c = K_c^T Q_c, O_c = V_c A_c이고 "
                "소프트맥스는 열 방향."
            ),
        },
    },
    "figure_single_head": {
        "caption": {
            "en": (
                "One head with its residual connection, from bottom to top; every arrow carries "
                "its shape."
            ),
            "ko": (
                "잔차 연결을 포함한 헤드 하나의 데이터 흐름입니다. 아래에서 위로 읽으며, "
                "화살표마다 모양을 적었습니다."
            ),
        },
        "alt": {
            "en": (
                "X (T by d_model) is multiplied by W_Q, W_K and W_V; Q K^T (T by T) is scaled, "
                "masked and put through a row softmax; the weights times V (T by d_v) are "
                "multiplied by W_O and added to X."
            ),
            "ko": (
                "X(T×d_model)에 W_Q, W_K, W_V를 곱하고, Q K^T(T×T)를 스케일링하고 마스크한 뒤 "
                "행별 소프트맥스를 취합니다. 가중치와 V의 곱(T×d_v)에 W_O를 곱해 X에 더합니다."
            ),
        },
    },
    "figure_multi_head": {
        "caption": {
            "en": (
                "Multi-head attention: a stack stands for the $H$ heads, whose outputs are "
                "concatenated and projected."
            ),
            "ko": (
                "멀티헤드 어텐션입니다. 겹쳐 그린 상자는 $H$개의 헤드를 뜻하며, 그 출력을 이어 "
                "붙인 뒤 사영합니다."
            ),
        },
        "alt": {
            "en": (
                "X is projected per head to queries, keys and values; each head gives T by d_v; "
                "the concatenation is T by H d_v; W_O brings it back to T by d_model; X is "
                "added."
            ),
            "ko": (
                "X를 헤드마다 쿼리, 키, 밸류로 사영하고, 각 헤드의 출력은 T×d_v, 이어 붙인 것은 "
                "T×H d_v이며, W_O가 T×d_model로 되돌린 뒤 X를 더합니다."
            ),
        },
    },
    "figure_tiles": {
        "caption": {
            "en": (
                "Online softmax over four tiles. When the running maximum $m_k$ rises, the sum "
                "so far is multiplied by $e^{m_{k-1}-m_k}$; the last sum is the full one."
            ),
            "ko": (
                "네 타일에 걸친 온라인 소프트맥스입니다. 지금까지의 최댓값 $m_k$가 커지면 "
                "그때까지의 합에 $e^{m_{k-1}-m_k}$을 곱합니다. 마지막 합이 전체 합입니다."
            ),
        },
        "alt": {
            "en": (
                "Above: twelve scores as bars in tiles of three with the running maximum as "
                "steps 1.4, 2.2, 2.2, 3. Below: the running sum, its rescaled old part hatched "
                "and its new part filled."
            ),
            "ko": (
                "위: 점수 열두 개를 세 개씩 묶은 막대와 1.4, 2.2, 2.2, 3으로 올라가는 누적 "
                "최댓값. 아래: 누적 합. 다시 스케일링한 이전 부분은 빗금, 새 부분은 채워서 "
                "그렸습니다."
            ),
        },
    },
    "figure_kv_cache": {
        "caption": {
            "en": (
                "Decoding with a cache, step 5 of 7: one key and one value are appended, and one "
                "row of scores is computed. The rows of earlier steps are never needed again."
            ),
            "ko": (
                "캐시를 쓰는 디코딩의 7단계 가운데 5번째입니다. 키와 밸류를 하나씩 덧붙이고 점수 "
                "한 행만 계산합니다. 앞 단계의 행은 다시 필요하지 않습니다."
            ),
        },
        "alt": {
            "en": (
                "Left: key and value caches with four kept rows, one new row and two empty ones. "
                "Right: a causal triangle of scores in which only row five is computed now."
            ),
            "ko": (
                "왼쪽: 남아 있는 네 행, 새로 더한 한 행, 빈 두 행으로 된 키 캐시와 밸류 캐시. "
                "오른쪽: 인과 삼각형 모양의 점수 가운데 지금은 다섯째 행만 계산합니다."
            ),
        },
    },
    "figure_error_allowance": {
        "caption": {
            "en": (
                "Error of a kernel as a share of its derived allowance, against the number of "
                "keys: largest (solid) and median (dotted) output element. Below 1 rounding "
                "explains the error; the kernel with a wrong scale is proved not to be of its "
                "class."
            ),
            "ko": (
                "커널의 오차를 유도된 허용 오차에 대한 비율로, 키의 개수에 따라 나타냈습니다. "
                "실선은 출력 성분 가운데 가장 큰 값, 점선은 중앙값입니다. 1보다 작으면 "
                "반올림으로 설명되는 오차입니다. 스케일이 틀린 커널은 이 부류에 속하지 않음이 "
                "증명됩니다."
            ),
        },
        "alt": {
            "en": (
                "Log-log plot over 16 to 4096 keys. The float32 and bfloat16 kernels stay below "
                "1 at every length; the float32 kernel with the scale 1/sqrt(d_k+1) lies far "
                "above 1."
            ),
            "ko": (
                "키 16개에서 4096개까지의 로그-로그 그림. float32와 bfloat16 커널은 모든 "
                "길이에서 1보다 아래에 있고, 스케일이 1/sqrt(d_k+1)인 float32 커널은 1보다 훨씬 "
                "위에 있습니다."
            ),
        },
    },
}

# chapter -> its figures, in order
BY_CHAPTER: dict[str, tuple[str, ...]] = {
    "notation": ("figure_orientations", "figure_single_head"),
    "scaling": ("figure_qk_variance",),
    "softmax": ("figure_saturation", "figure_jacobian"),
    "masking": ("figure_masks",),
    "heads": ("figure_multi_head",),
    "computation": ("figure_tiles", "figure_kv_cache"),
    "rounding": ("figure_error_allowance",),
}
