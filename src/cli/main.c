#include "cli/cli.h"

int main(int argc, char **argv)
{
	return cli__main(argc, argv);
}
