/* The library that hostile files are made of. */
void spin(void);

void spin(void)
{
	for (volatile int i = 0; i < 200000; i++)
		;
}
