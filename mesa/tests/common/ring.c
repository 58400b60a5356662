// SPDX-License-Identifier: MIT
#include "monitor.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <math.h>

enum { FRAMES_PER_BREATH = 30, FACES = 6, CORNERS = 4 };

static const double pi = 3.14159265358979323846;

/* A unit cube around the origin, one face after the other: axis and sign of the normal. */
static void draw_block(void)
{
	for (int face = 0; face < FACES; face++) {
		static const int across[CORNERS] = { -1, 1, 1, -1 }, up[CORNERS] = { -1, -1, 1, 1 };
		int axis = face / 2, sign = face % 2 ? -1 : 1;
		float v[3] = { 0 };

		v[axis] = (float)sign;
		glNormal3fv(v);
		for (int n = 0; n < CORNERS; n++) {
			int corner = sign > 0 ? n : CORNERS - 1 - n;

			v[axis] = 0.5f * (float)sign;
			v[(axis + 1) % 3] = 0.5f * (float)across[corner];
			v[(axis + 2) % 3] = 0.5f * (float)up[corner];
			glVertex3fv(v);
		}
	}
}

void ring_draw(int most_blocks, double width_by_height, int frame)
{
	static const float light[] = { 2, 4, 5, 0 };
	double phase = 2 * pi * frame / FRAMES_PER_BREATH;
	int blocks = (int)lround(most_blocks * (0.6 - 0.4 * cos(phase)));
	double aspect = 0.6 * width_by_height;
	double size = 0.55 - 0.2 * sin(phase / 2);

	glClearColor(0.07f, 0.08f, 0.12f, 1);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	glMatrixMode(GL_PROJECTION);
	glLoadIdentity();
	glFrustum(-aspect, aspect, -0.6, 0.6, 1, 20);
	glMatrixMode(GL_MODELVIEW);
	glLoadIdentity();
	glTranslated(0, -0.9, -5.5);
	glRotated(35, 1, 0, 0);
	glLightfv(GL_LIGHT0, GL_POSITION, light);
	glRotated(2.0 * frame, 0, 1, 0);
	for (int n = 0; n < blocks; n++) {
		double angle = 360.0 * n / blocks, hue = 2 * pi * n / blocks;

		glPushMatrix();
		glRotated(angle, 0, 1, 0);
		glTranslated(2.2, 0.3 * sin(3 * hue + phase), 0);
		glRotated(angle + 3.0 * frame, 1, 0.5, 0.2);
		glScaled(size, size, size);
		glColor3d(0.55 + 0.45 * cos(hue), 0.55 + 0.45 * cos(hue + 2.1),
			  0.55 + 0.45 * cos(hue + 4.2));
		glBegin(GL_QUADS);
		draw_block();
		glEnd();
		glPopMatrix();
	}
}

void ring_set_up(void)
{
	glEnable(GL_DEPTH_TEST);
	glEnable(GL_CULL_FACE);
	glEnable(GL_LIGHTING);
	glEnable(GL_LIGHT0);
	glEnable(GL_COLOR_MATERIAL);
	glEnable(GL_NORMALIZE);
}
