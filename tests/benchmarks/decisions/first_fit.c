/* Grouped first fit of a trace, the physical limit beside a replay: no rules, no delays, no knowledge of what comes.

   Input, as numbers: resources, machine types, sources, steps, instant of the end, repetitions, and changes. Then each type (price,
   capacities), each source (requests), and each step (instant, number of changes, then source and wanted pods of each change). A
   pod that came stays on its node. A node is bought with its first pod, the cheapest on which the pod fits, and ends with its last.
   Output: nanoseconds of one repetition, price times seconds, pods placed, pods that fit on no type. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef long long number;

static number resources, types, sources, steps, end, repetitions;
static number *prices, *capacities, *requests, *changes;

typedef struct { number type, since, pods, *room, *of_source; } Node;

static Node *nodes;
static number node_count, cost, placed, refused;

static number next(void) {
    number value;
    if (scanf("%lld", &value) != 1) exit(1);
    return value;
}

static void *memory(number count, size_t size) {
    void *found = calloc(count ? count : 1, size);
    if (!found) exit(1);
    return found;
}

static number fits(const number *room, const number *request, number most) {
    for (number r = 0; r < resources; r++)
        if (request[r] && room[r] / request[r] < most) most = room[r] / request[r];
    return most;
}

static void put(Node *node, number source, number pods) {
    for (number r = 0; r < resources; r++) node->room[r] -= pods * requests[source * resources + r];
    node->of_source[source] += pods;
    node->pods += pods;
}

static Node *bought(number type, number now) {
    Node *node = NULL;
    for (number n = 0; n < node_count && !node; n++) if (nodes[n].type < 0) node = &nodes[n];
    if (!node) {
        if (node_count % 1024 == 0 && !(nodes = realloc(nodes, (node_count + 1024) * sizeof *nodes))) exit(1);
        node = &nodes[node_count++];
        node->room = memory(resources, sizeof(number));
        node->of_source = memory(sources, sizeof(number));
        node->pods = 0;
    }
    node->type = type;
    node->since = now;
    for (number r = 0; r < resources; r++) node->room[r] = capacities[type * resources + r];
    return node;
}

static void arrive(number source, number pods, number now) {
    const number *request = &requests[source * resources];
    placed += pods;
    for (number n = 0; n < node_count && pods; n++) {
        number here = nodes[n].type < 0 ? 0 : fits(nodes[n].room, request, pods);
        if (here) put(&nodes[n], source, here);
        pods -= here;
    }
    while (pods) {
        number best = -1;
        for (number t = 0; t < types; t++)
            if (fits(&capacities[t * resources], request, 1) && (best < 0 || prices[t] < prices[best])) best = t;
        if (best < 0) {
            placed -= pods;
            refused += pods;
            return;
        }
        Node *node = bought(best, now);
        number here = fits(node->room, request, pods);
        put(node, source, here);
        pods -= here;
    }
}

static void leave(number source, number pods, number now) {
    for (number n = 0; n < node_count && pods; n++) {
        Node *node = &nodes[n];
        number here = node->type < 0 ? 0 : node->of_source[source] < pods ? node->of_source[source] : pods;
        if (!here) continue;
        put(node, source, -here);
        pods -= here;
        if (!node->pods) {
            cost += (now - node->since) * prices[node->type];
            node->type = -1;
        }
    }
}

static void play(number *wanted) {
    const number *at = changes;
    cost = placed = refused = 0;
    for (number s = 0; s < sources; s++) wanted[s] = 0;
    for (number step = 0; step < steps; step++) {
        number now = *at++, count = *at++;
        for (number pass = 0; pass < 2; pass++) /* who leaves makes room first */
            for (number c = 0; c < count; c++) {
                number source = at[2 * c], more = at[2 * c + 1] - wanted[source];
                if (pass ? more > 0 : more < 0) {
                    if (pass) arrive(source, more, now); else leave(source, -more, now);
                    wanted[source] += more;
                }
            }
        at += 2 * count;
    }
    for (number s = 0; s < sources; s++) leave(s, wanted[s], end);
}

int main(void) {
    resources = next(); types = next(); sources = next(); steps = next(); end = next(); repetitions = next();
    number changed = next();
    prices = memory(types, sizeof(number));
    capacities = memory(types * resources, sizeof(number));
    requests = memory(sources * resources, sizeof(number));
    changes = memory(2 * (steps + changed), sizeof(number));
    for (number t = 0; t < types; t++) {
        prices[t] = next();
        for (number r = 0; r < resources; r++) capacities[t * resources + r] = next();
    }
    for (number i = 0; i < sources * resources; i++) requests[i] = next();
    for (number i = 0; i < 2 * (steps + changed); i++) changes[i] = next();
    number *wanted = memory(sources, sizeof(number));
    struct timespec begin, done;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (number i = 0; i < repetitions; i++) play(wanted);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &done);
    number nanoseconds = (done.tv_sec - begin.tv_sec) * 1000000000LL + done.tv_nsec - begin.tv_nsec;
    printf("%lld %lld %lld %lld\n", nanoseconds / repetitions, cost, placed, refused);
    return 0;
}
