/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that are inlined, cut into parts, copied and unrolled, for the comparison with
 * llvm-symbolizer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left, *right;
	unsigned int key;
	char name[24];
};

static unsigned int hash(const char *text)
{
	unsigned int value = 5381;

	while (*text)
		value = value * 33 ^ (unsigned char)*text++;
	return value;
}

static struct node *new_node(const char *name)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node) {
		fprintf(stderr, "no memory for %s\n", name);
		abort();
	}
	node->key = hash(name);
	snprintf(node->name, sizeof(node->name), "%s", name);
	return node;
}

static void insert(struct node **root, const char *name)
{
	unsigned int key = hash(name);

	while (*root)
		root = key < (*root)->key ? &(*root)->left : &(*root)->right;
	*root = new_node(name);
}

static size_t depth(const struct node *node)
{
	size_t left, right;

	if (!node)
		return 0;
	left = depth(node->left);
	right = depth(node->right);
	return 1 + (left > right ? left : right);
}

static int by_key(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static size_t flatten(struct node *node, struct node **out)
{
	size_t count = 0;

	if (!node)
		return 0;
	count += flatten(node->left, out);
	out[count++] = node;
	return count + flatten(node->right, out + count);
}

static double multiply(const double *restrict a, const double *restrict b, double *restrict c,
		       int n)
{
	double trace = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0;

			for (int k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			c[i * n + j] = sum;
			trace += i == j ? sqrt(fabs(sum)) : 0;
		}
	return trace;
}

static int parse(const char *text, long *ret)
{
	char *end;
	long value = strtol(text, &end, 0);

	switch (*end) {
	case 'k':
		value <<= 10;
		break;
	case 'M':
		value <<= 20;
		break;
	case 'G':
		value <<= 30;
		break;
	case '\0':
		break;
	default:
		return -1;
	}
	*ret = value;
	return 0;
}

int main(int argc, char **argv)
{
	static double a[64 * 64], b[64 * 64], c[64 * 64];
	struct node *root = NULL, *sorted[512];
	long value = 0;
	size_t count;

	for (int i = 0; i < argc && i < 512; i++) {
		insert(&root, argv[i]);
		if (parse(argv[i], &value))
			fprintf(stderr, "'%s' is no size\n", argv[i]);
	}
	count = flatten(root, sorted);
	qsort(sorted, count, sizeof(*sorted), by_key);
	for (size_t i = 0; i < count; i++)
		printf("%zu %s %u\n", i, sorted[i]->name, sorted[i]->key);
	for (size_t i = 0; i < sizeof(a) / sizeof(*a); i++)
		a[i] = b[i] = (double)(value % 1000) + (double)i;
	printf("%zu %f\n", depth(root), multiply(a, b, c, 64));
	return 0;
}
