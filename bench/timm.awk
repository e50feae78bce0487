# timm.awk - one row of bench/results/timm.csv: scores of the predictions (second file: record measured predicted lo hi) of those
# records (first file: records.csv of the data set) that are of a device, mode and setting.
function has_all(own, wanted, pairs, i, n) {
    if (wanted == "-") return 1
    n = split(wanted, pairs, ";")
    for (i = 1; i <= n; i++) if (index(";" own ";", ";" pairs[i] ";") == 0) return 0
    return 1
}

# Sorts the indices order[1..n] by their values (Shell's way: mawk has little room for recursion).
function sort(values, order, n, gap, i, j, at) {
    for (gap = int(n / 2); gap > 0; gap = int(gap / 2.2)) {
        for (i = gap + 1; i <= n; i++) {
            at = order[i]
            for (j = i; j > gap && values[order[j - gap]] > values[at]; j -= gap) order[j] = order[j - gap]
            order[j] = at
        }
    }
}

# Ranks of values[1..n]; ties get their mean.
function rank(values, ranks, n, order, i, j, k) {
    for (i = 1; i <= n; i++) order[i] = i
    sort(values, order, n)
    for (i = 1; i <= n; i = j) {
        for (j = i + 1; j <= n && values[order[j]] == values[order[i]]; j++);
        for (k = i; k < j; k++) ranks[order[k]] = (i + j - 1) / 2
    }
}

FNR == NR {
    if (FNR == 1) { count = split($0, names, ","); for (i = 1; i <= count; i++) column[names[i]] = i; next }
    split($0, cell, ",")
    if (cell[column["device"]] == device && (mode == "all" || cell[column["mode"]] == mode) && has_all(cell[column["setting"]], setting))
        wanted[FNR - 2] = 1
    next
}

$1 in wanted {
    n++
    error = $3 / $2 - 1
    size = error < 0 ? -error : error
    sum += size
    bias += error
    within += size <= 0.1
    sizes[n] = size
    measured[n] = $2
    predicted[n] = $3
    if ($4 != "null") { bounded++; inside += $2 >= $4 && $2 <= $5; width += ($5 - $4) / $3 }
}

END {
    if (n == 0) exit
    rank(measured, a, n, order)
    rank(predicted, b, n, order)
    for (i = 1; i <= n; i++) { x = a[i] - (n + 1) / 2; y = b[i] - (n + 1) / 2; xy += x * y; xx += x * x; yy += y * y }
    for (i = 1; i <= n; i++) order[i] = i
    sort(sizes, order, n)
    median = n % 2 ? sizes[order[(n + 1) / 2]] : (sizes[order[n / 2]] + sizes[order[n / 2 + 1]]) / 2
    spearman = (xx > 0 && yy > 0) ? xy / sqrt(xx * yy) : 0
    printf "%s,%s,%s,%s,%s,%d,%.3f,%.3f,%.2f,%.4f,", split_, predictor, device, mode, setting, n, 100 * sum / n, 100 * median, 100 * within / n, spearman
    if (bounded) printf "%.2f,%.2f,", 100 * inside / bounded, 100 * width / bounded; else printf ",,"
    printf "%.3f,%s,%d,%s\n", 100 * bias / n, settings, seconds, commit
}
