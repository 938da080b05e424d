/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compile.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "load/build.h"
#include "load/compile_git.h"
#include "load/compile_index.h"
#include "policy/hostset.h"
#include "policy/inside.h"

/* 198.18.0.0/15 without its first /24: the answerer, the refusal address. */
#define ADDRESS_FIRST 0xc6120100U /* 198.18.1.0 */
#define ADDRESSES (131072U - 256)
#define NAMES_MAX (ADDRESSES / 8 * 7) /* so that probing stays short */

struct program_build {
	struct build b;
	struct compile_hosts *h;
	const struct load_policy_text *policy;
	const struct load_policy_in *in;
	uint32_t *addresses; /* synthetic, of each host */
};

/* The label `depth` steps from the right; empty if there is none. */
static struct slice
label_at(struct slice name, uint32_t depth)
{
	size_t end = name.n;

	for (;;) {
		size_t from = end;
		while (from > 0 && name.p[from - 1] != '.')
			from--;
		if (depth-- == 0)
			return (struct slice){ name.p + from, end - from };
		if (from == 0)
			return slice_first(name, 0);
		end = from - 1;
	}
}

struct node {
	struct slice label;
	uint32_t hash;
	uint32_t from, to, depth; /* the hosts below it */
	uint32_t children, n_children;
	uint32_t own[HOST_LITERAL]; /* by kind */
};

static struct node
new_node(struct slice label, uint32_t from, uint32_t to, uint32_t depth)
{
	return (struct node){ .label = label,
		.hash = hostset_hash(label),
		.from = from,
		.to = to,
		.depth = depth,
		.own = { IMAGE_NONE, IMAGE_NONE, IMAGE_NONE } };
}

static int
compare_nodes(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return slice_compare(a->label, b->label);
}

/*
 * Hosts are sorted: those that end here come first, then one run a label.
 * Returns how many nodes there are now.
 */
static uint32_t
fill_node(const struct compile_hosts *h, struct node *nodes, uint32_t i,
    uint32_t n)
{
	struct node *node = &nodes[i];
	uint32_t at = node->from;

	while (at < node->to &&
	    label_at(h->hosts[at]->behind, node->depth).n == 0) {
		node->own[h->hosts[at]->kind] = at;
		at++;
	}
	node->children = n;
	while (at < node->to) {
		struct slice label =
		    label_at(h->hosts[at]->behind, node->depth);
		uint32_t from = at;
		while (at < node->to &&
		    slice_eq(label,
			label_at(h->hosts[at]->behind, node->depth)))
			at++;
		nodes[n++] = new_node(label, from, at, node->depth + 1);
		node->n_children++;
	}
	qsort(&nodes[node->children], node->n_children, sizeof(*nodes),
	    compare_nodes);
	return n;
}

/* A node a label at most, and the root. */
static size_t
count_labels(const struct compile_hosts *h)
{
	size_t n = 1;

	for (uint32_t i = 0; i < h->n_names; i++) {
		struct slice name = h->hosts[i]->behind;
		n += name.n == 0 ? 0 : 1;
		for (size_t k = 0; k < name.n; k++)
			n += name.p[k] == '.' ? 1 : 0;
	}
	return n;
}

static void
put_nodes(struct program_build *p)
{
	struct node *nodes = mem_array(count_labels(p->h), sizeof(*nodes));
	uint32_t n = 1;

	nodes[0] = new_node((struct slice){ 0 }, 0, p->h->n_names, 0);
	for (uint32_t i = 0; i < n; i++)
		n = fill_node(p->h, nodes, i, n);
	for (uint32_t i = 0; i < n; i++) {
		build_string(&p->b, TABLE_NODES, nodes[i].label);
		build_word(&p->b, TABLE_NODES, nodes[i].hash);
		build_word(&p->b, TABLE_NODES, nodes[i].children);
		build_word(&p->b, TABLE_NODES, nodes[i].n_children);
		build_word(&p->b, TABLE_NODES, nodes[i].own[HOST_EXACT]);
		build_word(&p->b, TABLE_NODES, nodes[i].own[HOST_STAR]);
		build_word(&p->b, TABLE_NODES, nodes[i].own[HOST_DOUBLE]);
	}
	free(nodes);
}

/*
 * Each pattern's address: a keyed hash, probed in sorted order, so the same
 * program has the same addresses wherever it is compiled with the same key.
 */
static void
give_addresses(struct program_build *p)
{
	bool *taken = mem_array(ADDRESSES, sizeof(*taken));

	p->addresses = mem_array(p->h->n, sizeof(*p->addresses));
	for (uint32_t i = 0; i < p->h->n_names; i++) {
		uint64_t hash = siphash(p->in->key, p->h->hosts[i]->text);
		uint32_t at = (uint32_t)(hash % ADDRESSES);
		while (taken[at])
			at = (at + 1) % ADDRESSES;
		taken[at] = true;
		p->addresses[i] = ADDRESS_FIRST + at;
	}
	free(taken);
}

static bool
has_credential(const struct compile_hosts *h, uint32_t host)
{
	for (uint32_t i = h->first[host]; i < h->first[host + 1]; i++)
		if (h->rules[h->list[i]]->n_credentials != 0)
			return true;
	return false;
}

static void
put_hosts(struct program_build *p)
{
	const struct compile_hosts *h = p->h;
	uint32_t index = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t n = h->first[i + 1] - h->first[i];
		build_word(&p->b, TABLE_HOSTS, h->hosts[i]->kind);
		build_string(&p->b, TABLE_HOSTS, h->hosts[i]->text);
		build_word(&p->b, TABLE_HOSTS, p->addresses[i]);
		build_word(&p->b, TABLE_HOSTS, h->first[i]);
		build_word(&p->b, TABLE_HOSTS, n);
		build_word(&p->b, TABLE_HOSTS, has_credential(h, i) ? 1 : 0);
		build_word(&p->b, TABLE_HOSTS,
		    n > COMPILE_UNINDEXED ? index++ : IMAGE_NONE);
	}
	for (uint32_t i = 0; i < h->n_routes; i++)
		build_word(&p->b, TABLE_LISTS, h->list[i]);
	for (uint32_t i = h->n_names; i < h->n; i++) {
		build_ip(&p->b, TABLE_LITERALS, &h->hosts[i]->ip);
		build_word(&p->b, TABLE_LITERALS, i);
	}
}

struct given {
	uint32_t address, host;
};

static int
compare_given(const void *left, const void *right)
{
	const struct given *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static void
put_addresses(struct program_build *p)
{
	struct given *list = mem_array(p->h->n_names, sizeof(*list));

	for (uint32_t i = 0; i < p->h->n_names; i++)
		list[i] = (struct given){ p->addresses[i], i };
	qsort(list, p->h->n_names, sizeof(*list), compare_given);
	for (uint32_t i = 0; i < p->h->n_names; i++) {
		build_word(&p->b, TABLE_ADDRESSES, list[i].address);
		build_word(&p->b, TABLE_ADDRESSES, list[i].host);
	}
	free(list);
}

static void
put_queries(struct build *b, const struct load_rule *rule)
{
	for (uint32_t i = 0; i < rule->n_queries; i++) {
		const struct load_query *q = &rule->queries[i];
		build_string(b, TABLE_QUERIES, q->key);
		build_word(b, TABLE_QUERIES, q->kind);
		build_word(b, TABLE_QUERIES,
		    b->words[TABLE_GLOBS] / GLOB_WORDS);
		build_word(b, TABLE_QUERIES, q->n_globs);
		for (uint32_t k = 0; k < q->n_globs; k++)
			build_string(b, TABLE_GLOBS, q->globs[k]);
	}
}

static void
put_prefixes(struct build *b, const struct load_rule *rule)
{
	for (uint32_t i = 0; i < rule->n_prefixes; i++) {
		build_word(b, TABLE_PREFIXES, rule->prefixes[i].bits);
		build_ip(b, TABLE_PREFIXES, &rule->prefixes[i].first);
	}
}

static uint32_t
flags_of(const struct load_rule *rule)
{
	return (rule->deny ? RULE_DENY : 0U) |
	    (rule->encoded_slash ? RULE_ENCODED_SLASH : 0U) |
	    (rule->hidden ? RULE_HIDDEN : 0U) |
	    (rule->has_query ? RULE_QUERY : 0U) |
	    (rule->query_others ? RULE_QUERY_OTHERS : 0U) |
	    (rule->any_method ? RULE_ANY_METHOD : 0U) |
	    (rule->expires_s != 0 ? RULE_EXPIRES : 0U) |
	    (rule->report != LOAD_ENFORCED ? RULE_REPORT : 0U) |
	    (rule->signed_url ? RULE_SIGNED_URL : 0U);
}

static void
build_size(struct build *b, unsigned table, uint64_t size)
{
	build_word(b, table, (uint32_t)(size >> 32));
	build_word(b, table, (uint32_t)size);
}

/* The record that they are in. */
static uint32_t
put_limits(struct build *b, const struct load_limits *l)
{
	uint32_t record = b->words[TABLE_LIMITS] / LIMITS_WORDS;

	if (l->body == 0 && l->upload_per_hour == 0 &&
	    l->requests_per_minute == 0 && l->connections == 0 &&
	    l->names == 0 && l->idle_ms == 0)
		return IMAGE_NONE;
	build_size(b, TABLE_LIMITS, l->body);
	build_size(b, TABLE_LIMITS, l->upload_per_hour);
	build_word(b, TABLE_LIMITS, l->requests_per_minute);
	build_word(b, TABLE_LIMITS, l->connections);
	build_word(b, TABLE_LIMITS, l->names);
	build_word(b, TABLE_LIMITS, l->idle_ms);
	return record;
}

static void
put_rule(struct build *b, const struct load_rule *rule, uint32_t route)
{
	build_string(b, TABLE_RULES, rule->name);
	build_file(b, TABLE_RULES, rule->at.file);
	build_word(b, TABLE_RULES, rule->at.line);
	build_word(b, TABLE_RULES, flags_of(rule));
	build_word(b, TABLE_RULES, rule->foreign);
	build_word(b, TABLE_RULES, rule->methods);
	build_word(b, TABLE_RULES, route);
	build_word(b, TABLE_RULES, rule->n_patterns);
	build_word(b, TABLE_RULES, b->words[TABLE_QUERIES] / QUERY_WORDS);
	build_word(b, TABLE_RULES, rule->n_queries);
	build_word(b, TABLE_RULES, b->words[TABLE_PREFIXES] / PREFIX_WORDS);
	build_word(b, TABLE_RULES, rule->n_prefixes);
	build_size(b, TABLE_RULES, rule->expires_s);
	build_word(b, TABLE_RULES, put_limits(b, &rule->limits));
	build_word(b, TABLE_RULES, compile_git(b, rule->git));
	build_word(b, TABLE_RULES, rule->n_credentials);
	for (uint32_t i = 0; i < VERDICT_CREDENTIALS_MAX; i++)
		build_word(b, TABLE_RULES,
		    i < rule->n_credentials ? rule->credentials[i] : 0);
	put_queries(b, rule);
	put_prefixes(b, rule);
}

static void
put_routes(struct program_build *p)
{
	uint32_t route = 0;

	for (uint32_t i = 0; i < p->policy->n_rules; i++) {
		const struct load_rule *rule = &p->policy->rules[i];
		put_rule(&p->b, rule, route);
		for (uint32_t k = 0; k < rule->n_patterns; k++, route++) {
			const struct load_pattern *pattern = &rule->patterns[k];
			build_word(&p->b, TABLE_ROUTES, i);
			build_word(&p->b, TABLE_ROUTES, p->h->of_route[route]);
			build_word(&p->b, TABLE_ROUTES, pattern->scheme);
			build_word(&p->b, TABLE_ROUTES, pattern->port);
			build_string(&p->b, TABLE_ROUTES, pattern->path);
			build_string(&p->b, TABLE_ROUTES, pattern->text);
		}
	}
}

/* What the program may know of the owner's credentials; indexes are the same. */
static void
put_credentials(struct program_build *p)
{
	const struct owner *o = p->in->owner;
	uint32_t n = o == NULL ? 0 : owner_n_credentials(o);

	for (uint32_t i = 0; i < n; i++) {
		struct program_credential c = owner_credential(o, i).public;
		build_string(&p->b, TABLE_CREDENTIALS, c.name);
		build_string(&p->b, TABLE_CREDENTIALS, c.slot);
		build_string(&p->b, TABLE_CREDENTIALS, c.prefix);
		build_string(&p->b, TABLE_CREDENTIALS, c.user);
		build_word(&p->b, TABLE_CREDENTIALS, c.kind);
		build_word(&p->b, TABLE_CREDENTIALS,
		    (c.response_filter ? CREDENTIAL_RESPONSE_FILTER : 0U) |
			(c.ranges ? CREDENTIAL_RANGES : 0U) |
			(c.echo_mask ? CREDENTIAL_ECHO_MASK : 0U) |
			(c.secret_is_user ? CREDENTIAL_SECRET_IS_USER : 0U));
	}
}

static uint32_t
flags_of_program(const struct load_policy_text *policy,
    const struct owner *owner)
{
	uint32_t flags = 0;

	for (uint32_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].patterns[0].scheme == SCHEME_GIT)
			flags |= PROGRAM_GIT;
	if (policy->code_only)
		flags |= PROGRAM_CODE_ONLY;
	if (owner != NULL && owner_denies_names(owner))
		flags |= PROGRAM_NXDOMAIN;
	return flags;
}

bool
compile_program(struct compile_hosts *h, const struct load_policy_text *policy,
    const struct load_policy_in *in, struct buf *image,
    struct load_report *report)
{
	struct program_build p = { .h = h, .policy = policy, .in = in };

	if (h->n_names > NAMES_MAX) {
		load_error(report, policy->at, "more than %u host patterns",
		    NAMES_MAX);
		return false;
	}
	build_init(&p.b);
	p.b.flags = flags_of_program(policy, in->owner);
	give_addresses(&p);
	put_nodes(&p);
	put_hosts(&p);
	put_addresses(&p);
	put_routes(&p);
	put_credentials(&p);
	compile_index(&p.b);
	bool good =
	    build_finish(&p.b, &inside_program, policy->name, in->key, image);
	build_release(&p.b);
	free(p.addresses);
	if (!good)
		load_error(report, policy->at, "the program is too large");
	return good;
}
